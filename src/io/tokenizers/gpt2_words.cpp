// SPDX-License-Identifier: Apache-2.0
#include "io/tokenizers/gpt2_words.h"

#include <array>

#include "base/text/utf8.h"
#include "io/tokenizers/unicode.h"

namespace narrowgauge {
namespace {

enum class Kind { space, letter, number, other };

Kind kind_of(std::uint32_t code) {
  if (is_space(code)) return Kind::space;
  if (is_letter(code)) return Kind::letter;
  return is_number(code) ? Kind::number : Kind::other;
}

// The bytes of the characters of a kind at the begin of a text.
std::size_t run_of(Kind kind, std::string_view text) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character next = first_or_replacement(text.substr(bytes));
    if (kind_of(next.code) != kind) break;
    bytes += next.bytes;
  }
  return bytes;
}

std::size_t contraction(std::string_view text) {
  constexpr std::array<std::string_view, 7> endings{"'s", "'d", "'m", "'t", "'ll", "'ve", "'re"};
  for (const std::string_view ending : endings)
    if (text.starts_with(ending)) return ending.size();
  return 0;
}

// Blanks, but for the last one where a word follows, which may take it along.
std::size_t blanks(std::string_view text) {
  const std::size_t all = run_of(Kind::space, text);
  if (all == text.size()) return all;
  const std::size_t last = last_or_replacement(text.substr(0, all)).bytes;
  return all > last ? all - last : all;
}

std::size_t first_word(std::string_view text) {
  if (const std::size_t bytes = contraction(text)) return bytes;
  const std::size_t blank = text.starts_with(' ') && text.size() > 1 ? 1 : 0;
  const Kind kind = kind_of(first_or_replacement(text.substr(blank)).code);
  if (kind != Kind::space) return blank + run_of(kind, text.substr(blank));
  return blanks(text);
}

}  // namespace

std::string_view take_gpt2_word(std::string_view& text) {
  const std::string_view word = text.substr(0, first_word(text));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace narrowgauge
