// SPDX-License-Identifier: Apache-2.0
// BERT's tokenizer (Devlin et al. 2019; google-research/bert, tokenization.py): words are cut off
// at blanks and around punctuation and Chinese characters, then into the longest pieces that the
// vocabulary has. Pieces inside a word begin with "##".
#include <algorithm>
#include <array>

#include "base/text/utf8.h"
#include "io/tokenizers/special.h"
#include "io/tokenizers/token_files.h"
#include "io/tokenizers/unicode.h"

namespace narrowgauge {
namespace {

constexpr std::string_view unknown_piece = "[UNK]", inner = "##";
constexpr std::array<std::string_view, 5> wordpiece_special_texts{"[UNK]", "[SEP]", "[PAD]",
                                                                  "[CLS]", "[MASK]"};
constexpr std::size_t longest_word = 100;  // characters; longer ones are unknown

// Signs of ASCII count although Unicode calls some of them symbols.
bool cuts_words(std::uint32_t code) {
  const bool sign = (code >= '!' && code <= '/') || (code >= ':' && code <= '@') ||
                    (code >= '[' && code <= '`') || (code >= '{' && code <= '~');
  return sign || is_punctuation(code);
}

bool is_left_out(std::uint32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') return false;
  return code == 0 || code == replacement_character || is_other(code);
}

class WordPiece : public Tokenizer {
 public:
  WordPiece(TokenizerContent content, const std::string& name)
      : content_(std::move(content)),
        numbers_(numbers_of(content_.tokens, name)),
        specials_(numbers_, wordpiece_special_texts) {
    const auto found = numbers_.find(unknown_piece);
    require<DataError>(found != numbers_.end(), name, ": expected ", unknown_piece,
                       " among its tokens");
    unknown_ = found->second;
    for (const std::string& token : content_.tokens)
      longest_piece_ = std::max(longest_piece_, token.size());
  }

  std::string_view kind() const override { return "wordpiece"; }
  std::int64_t size() const override { return std::ssize(content_.tokens); }
  bool is_lossless() const override { return false; }
  std::int32_t unknown() const override { return unknown_; }
  std::string json() const override { return json_of(content_); }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    specials_.for_each_part(
        text, [&](std::int32_t token) { tokens.push_back(token); },
        [&](std::string_view part) { add_text(part, tokens); });
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    bool first = true;
    for (const std::int32_t number : tokens) {
      const std::string_view token = content_.tokens[token_index(number, size())];
      const bool goes_on = token.starts_with(inner) && token.size() > inner.size();
      if (!first && !goes_on) text += ' ';
      text += goes_on && !first ? token.substr(inner.size()) : token;
      first = false;
    }
    return text;
  }

 private:
  void add_text(std::string_view text, std::vector<std::int32_t>& tokens) const {
    std::string word;
    while (!text.empty()) {
      const Character next = first_or_replacement(text);
      text.remove_prefix(next.bytes);
      if (is_left_out(next.code)) continue;
      const bool blank = is_space(next.code), alone = is_ideograph(next.code);
      if (blank || alone) end_word(word, tokens);
      if (!blank) append_utf8(word, next.code);
      if (alone) end_word(word, tokens);
    }
    end_word(word, tokens);
  }

  // Cuts what stands between blanks around punctuation, which may appear by normalization.
  void end_word(std::string& word, std::vector<std::int32_t>& tokens) const {
    const std::string normal = content_.cased ? word : lower_without_accents(word);
    word.clear();
    std::string_view rest(normal);
    std::size_t end = 0;
    const auto cut = [&](std::size_t bytes) {
      if (bytes > 0) add_pieces(rest.substr(0, bytes), tokens);
      rest.remove_prefix(bytes);
      end = 0;
    };
    while (end < rest.size()) {
      const Character next = first_or_replacement(rest.substr(end));
      if (!cuts_words(next.code)) {
        end += next.bytes;
        continue;
      }
      cut(end);
      cut(next.bytes);
    }
    cut(end);
  }

  static std::string lower_without_accents(std::string_view word) {
    const std::string plain = without_accents(word);
    std::string lower;
    for (std::string_view rest(plain); !rest.empty();) {
      const Character next = first_or_replacement(rest);
      append_utf8(lower, lower_case(next.code));
      rest.remove_prefix(next.bytes);
    }
    return lower;
  }

  // The longest pieces from the left; all of the word is unknown where a part is.
  void add_pieces(std::string_view word, std::vector<std::int32_t>& tokens) const {
    const std::size_t before = tokens.size();
    bool known = count_characters(word) <= longest_word;
    for (std::size_t begin = 0; known && begin < word.size();) {
      const auto [token, bytes] = longest_piece(word.substr(begin), begin > 0);
      known = bytes > 0;
      if (known) tokens.push_back(token);
      begin += bytes;
    }
    if (known) return;
    tokens.resize(before);
    tokens.push_back(unknown_);
  }

  struct Piece {
    std::int32_t token = 0;
    std::size_t bytes = 0;  // 0: there is none
  };
  Piece longest_piece(std::string_view rest, bool inside) const {
    const std::string_view prefix = inside ? inner : std::string_view();
    std::string text = concat(prefix, rest.substr(0, longest_piece_));
    for (std::size_t bytes = text.size() - prefix.size(); bytes > 0; --bytes) {
      text.resize(prefix.size() + bytes);
      const auto found = numbers_.find(text);
      if (found != numbers_.end()) return {found->second, bytes};
    }
    return {};
  }

  static std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  }

  TokenizerContent content_;
  TokenNumbers numbers_;
  SpecialTokens specials_;
  std::int32_t unknown_ = 0;
  std::size_t longest_piece_ = 0;  // bytes of the longest token
};

std::shared_ptr<const Tokenizer> make_wordpiece(const TokenizerOptions& options, std::string_view) {
  return std::make_shared<WordPiece>(
      TokenizerContent{.kind = "wordpiece",
                       .cased = options.cased,
                       .tokens = read_token_lines(options.vocabulary)},
      options.vocabulary);
}

std::shared_ptr<const Tokenizer> read_wordpiece(TokenizerContent content, const std::string& name) {
  return std::make_shared<WordPiece>(std::move(content), name);
}

}  // namespace
}  // namespace narrowgauge

NG_TOKENIZER(wordpiece, "wordpiece", "pieces of words, as BERT's",
             (std::vector<std::string_view>{"cased"}),
             (std::vector<std::string_view>{"vocabulary"}), make_wordpiece, read_wordpiece)
