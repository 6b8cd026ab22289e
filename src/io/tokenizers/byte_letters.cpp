// SPDX-License-Identifier: Apache-2.0
#include "io/tokenizers/byte_letters.h"

#include <array>
#include <map>

#include "base/text/utf8.h"
#include "base/unloading.h"

namespace narrowgauge {
namespace {

constexpr bool shows_as_itself(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr std::array<std::uint32_t, 256> letter_codes() {
  std::array<std::uint32_t, 256> codes{};
  std::uint32_t others = 0x100;
  for (std::uint32_t byte = 0; byte < codes.size(); ++byte)
    codes[byte] = shows_as_itself(byte) ? byte : others++;
  return codes;
}

constexpr std::array<std::uint32_t, 256> letters = letter_codes();

}  // namespace

std::string letter_of(unsigned char byte) {
  std::string letter;
  append_utf8(letter, letters[byte]);
  return letter;
}

std::string bytes_of_letters(std::string_view text) {
  using Bytes = std::map<std::uint32_t, char>;
  static const auto& bytes = immortal<Bytes>([] {
    Bytes all;
    for (std::size_t byte = 0; byte < letters.size(); ++byte)
      all[letters[byte]] = static_cast<char>(byte);
    return all;
  }());
  std::string result;
  while (!text.empty()) {
    const Character next = first_or_replacement(text);
    const auto found = bytes.find(next.code);
    if (found != bytes.end())
      result += found->second;
    else
      append_utf8(result, next.code);
    text.remove_prefix(next.bytes);
  }
  return result;
}

}  // namespace narrowgauge
