// SPDX-License-Identifier: Apache-2.0
#include "base/text/utf8.h"

#include <algorithm>

namespace narrowgauge {

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const std::uint32_t least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least || code > 0x10ffff || surrogate) return {};
  return {bytes, code};
}

Character first_or_replacement(std::string_view text) {
  const Character first = first_character(text);
  return first.bytes > 0 ? first : Character{1, replacement_character};
}

Character last_or_replacement(std::string_view text) {
  for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(4, text.size()); ++bytes) {
    const Character last = first_character(text.substr(text.size() - bytes));
    if (last.bytes == bytes) return last;
  }
  return {1, replacement_character};
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto add = [&](std::uint32_t bits) { out += static_cast<char>(bits); };
  const auto follow = [&](int shift) { add(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
    return follow(0);
  }
  if (code < 0x10000) {
    add(0xe0 | code >> 12);
    follow(6);
    return follow(0);
  }
  add(0xf0 | code >> 18);
  follow(12);
  follow(6);
  follow(0);
}

}  // namespace narrowgauge
