// SPDX-License-Identifier: Apache-2.0
// Words of the training text: runs of letters, digits and underscores, with apostrophes inside
// ("don't"); every other character that is no blank stands alone, and so do line feeds. The
// first token stands for all words that the vocabulary lacks.
#include <algorithm>

#include "base/text/utf8.h"
#include "io/tokenizers/tokenizer.h"
#include "io/tokenizers/unicode.h"

namespace narrowgauge {
namespace {

constexpr std::uint32_t curly_apostrophe = 0x2019;

bool is_word_character(std::uint32_t code) {
  return is_letter(code) || is_mark(code) || is_number(code) || code == '_';
}

bool is_apostrophe(std::uint32_t code) { return code == '\'' || code == curly_apostrophe; }

// The next word or sign of a text, which it removes; "" at the end.
std::string_view take_word(std::string_view& text) {
  while (!text.empty() && text[0] != '\n') {
    const Character next = first_or_replacement(text);
    if (!is_space(next.code)) break;
    text.remove_prefix(next.bytes);
  }
  if (text.empty()) return {};
  std::size_t end = first_or_replacement(text).bytes;
  bool inside = is_word_character(first_or_replacement(text).code);
  while (inside && end < text.size()) {
    const Character next = first_or_replacement(text.substr(end));
    std::size_t bytes = next.bytes;
    inside = is_word_character(next.code);
    if (is_apostrophe(next.code) && end + bytes < text.size()) {
      const Character behind = first_or_replacement(text.substr(end + bytes));
      inside = is_letter(behind.code);
      bytes += behind.bytes;
    }
    if (inside) end += bytes;
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

bool stands_after_blank(std::string_view token) {
  constexpr std::string_view none_before = ".,;:!?)]}%\n";
  return token.size() != 1 || none_before.find(token[0]) == std::string_view::npos;
}

bool has_blank_behind(std::string_view token) {
  constexpr std::string_view none_behind = "([{\n";
  return token.size() != 1 || none_behind.find(token[0]) == std::string_view::npos;
}

class Words : public Tokenizer {
 public:
  Words(std::vector<std::string> tokens, const std::string& name)
      : tokens_(std::move(tokens)), numbers_(numbers_of(tokens_, name)) {}

  std::string_view kind() const override { return "word"; }
  std::int64_t size() const override { return std::ssize(tokens_); }
  bool is_lossless() const override { return false; }
  std::int32_t unknown() const override { return unknown_token; }
  std::string json() const override { return json_of({.kind = "word", .tokens = tokens_}); }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    for (std::string_view word; !(word = take_word(text)).empty();) {
      const auto found = numbers_.find(word);
      tokens.push_back(found == numbers_.end() ? unknown_token : found->second);
    }
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    bool blank = false;
    for (const std::int32_t token : tokens) {
      const std::string& word = tokens_[token_index(token, size())];
      if (blank && stands_after_blank(word)) text += ' ';
      text += word;
      blank = has_blank_behind(word);
    }
    return text;
  }

 private:
  std::vector<std::string> tokens_;
  TokenNumbers numbers_;
};

struct Counted {
  std::string word;
  std::int64_t count = 0;
};

// The frequent words first, of equals in alphabetical order.
std::vector<Counted> counted_words(std::string_view text) {
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> counts;
  for (std::string_view word; !(word = take_word(text)).empty();) {
    const auto found = counts.find(word);
    if (found != counts.end())
      ++found->second;
    else
      counts.emplace(word, 1);
  }
  std::vector<Counted> words;
  for (const auto& [word, count] : counts) words.push_back({word, count});
  std::ranges::sort(words, [](const Counted& a, const Counted& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
  return words;
}

std::shared_ptr<const Tokenizer> make_word(const TokenizerOptions& options, std::string_view text) {
  require(options.most == 0 || options.most >= 2,
          "tokenizer word: expected at least 2 tokens, got ", options.most);
  require(options.least_count >= 1, "tokenizer word: expected a least count from 1 on, got ",
          options.least_count);
  std::vector<std::string> tokens{std::string(unknown_text)};
  for (const Counted& each : counted_words(text)) {
    const bool full = options.most > 0 && std::ssize(tokens) >= options.most;
    if (full || each.count < options.least_count) break;
    tokens.push_back(each.word);
  }
  return std::make_shared<Words>(std::move(tokens), "tokenizer word");
}

std::shared_ptr<const Tokenizer> read_word(TokenizerContent content, const std::string& name) {
  require<DataError>(!content.tokens.empty() && content.tokens[0] == unknown_text, name,
                     ": is damaged: expected ", unknown_text, " as the first token");
  return std::make_shared<Words>(std::move(content.tokens), name);
}

}  // namespace
}  // namespace narrowgauge

NG_TOKENIZER(word, "word", "words and punctuation of the training text",
             (std::vector<std::string_view>{"most", "least_count"}), {}, make_word, read_word)
