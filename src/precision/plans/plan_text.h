// SPDX-License-Identifier: Apache-2.0
// Pieces of the plan's text form that its writer, its reader and list files share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/precision.h"

namespace narrowgauge {

inline constexpr int plan_version = 1;

// The words that is_f32_math() accepts.
inline constexpr std::string_view f32_math_words =
    "ieee, f32, tf32, tf32x3, bf16x3, dfp16 or sim:<unit>";

std::optional<PrecisionClass> parse_class(std::string_view text);
bool is_plan_dtype(DType dtype);  // f32, f16 or bf16

// The words of a line; `#` at the beginning of a word starts a comment. A quoted part may hold
// spaces and escapes: note="between a and b". Throws ModelError naming the line.
std::vector<std::string> plan_tokens(std::string_view line, int number);
// `text`, quoted if necessary, so that plan_tokens returns it unchanged.
std::string plan_word(std::string_view text);

// Whether the rule says that the node is narrow; empty: it may be narrow or not.
std::optional<bool> makes_narrow(PrecisionRule rule);

}  // namespace narrowgauge
