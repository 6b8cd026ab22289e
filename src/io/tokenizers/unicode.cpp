// SPDX-License-Identifier: Apache-2.0
#include "io/tokenizers/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/text/utf8.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

utf8proc_category_t category(std::uint32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool is_between(std::uint32_t code, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t found = category(code);
  return found >= first && found <= last;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

bool is_letter(std::uint32_t code) {
  return is_between(code, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}
bool is_mark(std::uint32_t code) {
  return is_between(code, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}
bool is_number(std::uint32_t code) {
  return is_between(code, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}
bool is_punctuation(std::uint32_t code) {
  return is_between(code, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}
bool is_other(std::uint32_t code) {
  const utf8proc_category_t found = category(code);
  return found == UTF8PROC_CATEGORY_CN ||
         (found >= UTF8PROC_CATEGORY_CC && found <= UTF8PROC_CATEGORY_CO);
}

// Unicode 15.1, PropList.txt, White_Space.
bool is_space(std::uint32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

// The blocks that BERT's tokenizer names (google-research/bert, tokenization.py).
bool is_ideograph(std::uint32_t code) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 8> blocks{{{0x4e00, 0x9fff},
                                                                           {0x3400, 0x4dbf},
                                                                           {0x20000, 0x2a6df},
                                                                           {0x2a700, 0x2b73f},
                                                                           {0x2b740, 0x2b81f},
                                                                           {0x2b820, 0x2ceaf},
                                                                           {0xf900, 0xfaff},
                                                                           {0x2f800, 0x2fa1f}}};
  return std::ranges::any_of(
      blocks, [&](const auto& block) { return code >= block.first && code <= block.second; });
}

std::uint32_t lower_case(std::uint32_t code) {
  return static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

std::string without_accents(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                             static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(mapped, std::free);
  NG_INVARIANT(size >= 0);  // the text is valid UTF-8
  std::string kept;
  std::string_view rest(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size));
  while (!rest.empty()) {
    const Character next = first_or_replacement(rest);
    if (category(next.code) != UTF8PROC_CATEGORY_MN) kept += rest.substr(0, next.bytes);
    rest.remove_prefix(next.bytes);
  }
  return kept;
}

}  // namespace narrowgauge
