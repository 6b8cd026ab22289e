// SPDX-License-Identifier: Apache-2.0
// What --amp and NARROWGAUGE_AMP ask for. Their words are read and written here alone: "off" is
// f32, the other formats are called by their names, and "auto" stands for what is fastest.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "narrowgauge/dtype.h"

namespace narrowgauge {

struct Amp {
  DType format = DType::f32;
  bool automatic = false;  // a format is still to be chosen, by what is fastest on this machine

  bool operator==(const Amp&) const = default;
};

// The formats of mixed precision, f32 first.
inline constexpr std::array amp_formats{DType::f32, DType::f16, DType::bf16};

std::string_view name(const Amp& amp);  // "off", "f16", "bf16" or "auto"
// The inverse of name(); empty for other words.
std::optional<Amp> parse_amp(std::string_view word);

// What NARROWGAUGE_AMP asks for; empty where it is not set. Throws UsageError for other words.
std::optional<Amp> amp_variable();
// What amp_variable() gives, or else what NARROWGAUGE_AUTO_MIXED_PRECISION=0|1|f16|bf16 asks for (1
// is f16); f32 if neither is set. Throws UsageError for other words.
Amp amp_of_environment();

}  // namespace narrowgauge
