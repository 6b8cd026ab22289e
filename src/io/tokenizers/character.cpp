// SPDX-License-Identifier: Apache-2.0
// Each Unicode code point of the training text is a token. The first token stands for all others.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/text/utf8.h"
#include "io/tokenizers/tokenizer.h"

namespace narrowgauge {
namespace {

class Characters : public Tokenizer {
 public:
  explicit Characters(std::vector<std::uint32_t> codes) : codes_(std::move(codes)) {
    for (std::size_t i = 0; i < codes_.size(); ++i)
      numbers_.emplace(codes_[i], static_cast<std::int32_t>(i + 1));
    for (std::uint32_t code = 0; code < ascii_.size(); ++code) {
      const auto found = numbers_.find(code);
      ascii_[code] = found == numbers_.end() ? unknown_token : found->second;
    }
  }

  std::string_view kind() const override { return "character"; }
  std::int64_t size() const override { return std::ssize(codes_) + 1; }
  bool is_lossless() const override { return true; }
  std::int32_t unknown() const override { return unknown_token; }

  std::string json() const override {
    TokenizerContent content{.kind = "character", .tokens = {std::string(unknown_text)}};
    for (const std::uint32_t code : codes_) append_utf8(content.tokens.emplace_back(), code);
    return json_of(content);
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    while (!text.empty()) {
      const Character next = first_or_replacement(text);
      tokens.push_back(number(next.code));
      text.remove_prefix(next.bytes);
    }
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t token : tokens) {
      const std::size_t index = token_index(token, size());
      append_utf8(text, index == 0 ? replacement_character : codes_[index - 1]);
    }
    return text;
  }

 private:
  std::int32_t number(std::uint32_t code) const {
    if (code < ascii_.size()) return ascii_[code];
    const auto found = numbers_.find(code);
    return found == numbers_.end() ? unknown_token : found->second;
  }

  std::vector<std::uint32_t> codes_;  // of tokens 1 and on, in rising order
  std::unordered_map<std::uint32_t, std::int32_t> numbers_;
  std::array<std::int32_t, 128> ascii_{};  // numbers of what most texts consist of
};

std::shared_ptr<const Tokenizer> make_character(const TokenizerOptions&, std::string_view text) {
  std::vector<bool> seen(128);
  while (!text.empty()) {
    const Character next = first_or_replacement(text);
    if (next.code >= seen.size()) seen.resize(next.code + 1);
    seen[next.code] = true;
    text.remove_prefix(next.bytes);
  }
  std::vector<std::uint32_t> codes;
  for (std::uint32_t code = 0; code < seen.size(); ++code)
    if (seen[code]) codes.push_back(code);
  return std::make_shared<Characters>(std::move(codes));
}

std::shared_ptr<const Tokenizer> read_character(TokenizerContent content, const std::string& name) {
  std::vector<std::uint32_t> codes;
  require<DataError>(!content.tokens.empty() && content.tokens[0] == unknown_text, name,
                     ": is damaged: expected ", unknown_text, " as the first token");
  for (std::size_t i = 1; i < content.tokens.size(); ++i) {
    const std::string& token = content.tokens[i];
    const Character only = token.empty() ? Character{} : first_character(token);
    require<DataError>(only.bytes > 0 && only.bytes == token.size(), name,
                       ": is damaged: expected tokens of one character, found '", token, '\'');
    require<DataError>(codes.empty() || codes.back() < only.code, name,
                       ": is damaged: expected tokens in rising order, found '", token,
                       "' behind a later one");
    codes.push_back(only.code);
  }
  return std::make_shared<Characters>(std::move(codes));
}

}  // namespace
}  // namespace narrowgauge

NG_TOKENIZER(character, "character", "each character of the training text", {}, {}, make_character,
             read_character)
