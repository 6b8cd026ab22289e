// SPDX-License-Identifier: Apache-2.0
// UTF-8, character by character, from bytes that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace narrowgauge {

inline constexpr std::uint32_t replacement_character = 0xfffd;  // in the place of what is no UTF-8

// A character of UTF-8 under RFC 3629: the shortest form, no surrogates. 0 bytes: none.
struct Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};

// The first character of a text that is not empty.
Character first_character(std::string_view text);
// The first character, where a byte that begins none counts as the replacement character.
Character first_or_replacement(std::string_view text);
// The last character; a byte that ends none counts as the replacement character.
Character last_or_replacement(std::string_view text);

void append_utf8(std::string& out, std::uint32_t code);

}  // namespace narrowgauge
