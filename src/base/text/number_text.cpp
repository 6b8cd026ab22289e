// SPDX-License-Identifier: Apache-2.0
#include "base/text/number_text.h"

#include <array>
#include <charconv>

namespace narrowgauge {
namespace {

std::string number_text_of(double value, std::chars_format format, int precision) {
  std::array<char, 512> text;  // the largest double has 309 digits
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, format, precision).ptr;
  return {text.data(), end};
}

}  // namespace

std::string general_text(double value, int digits) {
  return number_text_of(value, std::chars_format::general, digits);
}

std::string fixed_text(double value, int decimals) {
  return number_text_of(value, std::chars_format::fixed, decimals);
}

}  // namespace narrowgauge
