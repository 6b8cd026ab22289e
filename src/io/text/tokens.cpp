// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text/utf8.h"
#include "io/tokenizers/tokenizer.h"
#include "io/tokenizers/unicode.h"
#include "narrowgauge/text_data.h"

namespace narrowgauge {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

// The end of the first piece of a text: where a blank follows what is none. No token of any kind
// goes across such a place, and no kind looks across it, so that the pieces have the tokens of the
// whole.
std::size_t end_of_piece(std::string_view text) {
  for (std::size_t at = piece_bytes; at < text.size(); ++at) {
    const bool blank = text[at] == ' ' || text[at] == '\n';
    if (blank && !is_space(last_or_replacement(text.substr(0, at)).code)) return at;
  }
  return text.size();
}

using Narrow = std::vector<std::uint16_t>;
using Wide = std::vector<std::uint32_t>;

}  // namespace

TokenList::TokenList(std::int64_t vocabulary) : vocabulary_(vocabulary) {
  require(vocabulary >= 1, "tokens: expected a vocabulary of at least 1 token, got ", vocabulary);
  if (vocabulary > 0x10000) tokens_ = Wide();
}

void TokenList::append(std::span<const std::int32_t> tokens) {
  for (const std::int32_t token : tokens) token_index(token, vocabulary_);
  std::visit([&](auto& list) { list.insert(list.end(), tokens.begin(), tokens.end()); }, tokens_);
}

void TokenList::reserve(std::int64_t count) {
  std::visit([&](auto& list) { list.reserve(static_cast<std::size_t>(count)); }, tokens_);
}

std::int64_t TokenList::size() const {
  return std::visit([](const auto& list) { return std::ssize(list); }, tokens_);
}

std::int32_t TokenList::operator[](std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  return std::visit([&](const auto& list) { return static_cast<std::int32_t>(list[i]); }, tokens_);
}

std::shared_ptr<const TokenList> tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  auto tokens = std::make_shared<TokenList>(tokenizer.size());
  const std::size_t whole = text.size();
  while (!text.empty()) {
    const std::size_t end = end_of_piece(text);
    const std::vector<std::int32_t> piece = tokenizer.encode(text.substr(0, end));
    // A list that grows by doubling would need thrice its memory in between.
    if (text.size() == whole)
      tokens->reserve(static_cast<std::int64_t>(1.05 * static_cast<double>(piece.size()) *
                                                static_cast<double>(whole) /
                                                static_cast<double>(end)));
    tokens->append(piece);
    text.remove_prefix(end);
  }
  return tokens;
}

}  // namespace narrowgauge
