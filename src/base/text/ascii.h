// SPDX-License-Identifier: Apache-2.0
// Kinds of ASCII characters, whatever locale the host has set: in one of Turkish, tolower() leaves
// the I.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_capital(c) || is_small_letter(c); }

constexpr char lower(char c) { return is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c; }
inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

}  // namespace narrowgauge
