// SPDX-License-Identifier: Apache-2.0
#include "base/text/base64.h"

#include <cstdint>

namespace narrowgauge {

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view part = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < part.size() ? static_cast<unsigned char>(part[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= part.size() ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace narrowgauge
