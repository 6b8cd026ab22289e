// SPDX-License-Identifier: Apache-2.0
// Properties of Unicode characters that tokenizers go by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace narrowgauge {

bool is_letter(std::uint32_t code);       // of a category L*
bool is_mark(std::uint32_t code);         // M*
bool is_number(std::uint32_t code);       // N*
bool is_punctuation(std::uint32_t code);  // P*
bool is_other(std::uint32_t code);        // C*: control, format, surrogate, private, unassigned
bool is_space(std::uint32_t code);        // White_Space
bool is_ideograph(std::uint32_t code);    // of the blocks of CJK Unified Ideographs

std::uint32_t lower_case(std::uint32_t code);  // that has one character; else itself
// The text in normalization form D without nonspacing marks (Mn).
std::string without_accents(std::string_view text);

}  // namespace narrowgauge
