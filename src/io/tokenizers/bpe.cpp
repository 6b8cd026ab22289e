// SPDX-License-Identifier: Apache-2.0
// GPT-2's tokenizer: pairs of bytes, and of what came of them, are merged in the order of a list
// (Sennrich, Haddow, Birch 2016; Radford et al. 2019, openai/gpt-2, encoder.py). Its files write
// each byte as a printable character.
#include <array>
#include <limits>
#include <mutex>
#include <queue>
#include <shared_mutex>

#include "base/text/utf8.h"
#include "io/tokenizers/byte_letters.h"
#include "io/tokenizers/gpt2_words.h"
#include "io/tokenizers/special.h"
#include "io/tokenizers/token_files.h"

namespace narrowgauge {
namespace {

constexpr std::array<std::string_view, 1> bpe_special_texts{"<|endoftext|>"};

struct Merge {
  std::int32_t rank = 0, token = 0;  // its place in the list; what it makes
};
using Pair = std::uint64_t;

Pair pair_of(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

// The bytes of a word while they are merged: a list of tokens, and the merges that are possible.
class Merging {
 public:
  using Merges = std::unordered_map<Pair, Merge>;

  Merging(std::vector<std::int32_t> tokens, const Merges& merges)
      : tokens_(std::move(tokens)), merges_(merges), links_(tokens_.size()) {
    for (std::size_t i = 0; i < links_.size(); ++i) links_[i] = {i - 1, i + 1};
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) consider(i);
  }

  std::vector<std::int32_t> run() {
    while (!possible_.empty()) {
      const Possible first = possible_.top();
      possible_.pop();
      if (is_there(first)) merge(first);
    }
    std::vector<std::int32_t> left;
    for (std::size_t i = 0; i < tokens_.size(); i = links_[i].next) left.push_back(tokens_[i]);
    return left;
  }

 private:
  struct Link {
    std::size_t before = 0, next = 0;  // of the neighbours
  };
  // A merge of the tokens at `place` and behind it, as they were when it was found.
  struct Possible {
    std::int32_t rank, token;
    std::size_t place;
    Pair pair;
    // The lowest rank comes first, of equals the leftmost.
    bool operator<(const Possible& other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  static constexpr std::int32_t gone = -1;

  bool has_next(std::size_t place) const { return links_[place].next < tokens_.size(); }

  void consider(std::size_t place) {
    if (!has_next(place)) return;
    const Pair pair = pair_of(tokens_[place], tokens_[links_[place].next]);
    const auto found = merges_.find(pair);
    if (found != merges_.end())
      possible_.push({found->second.rank, found->second.token, place, pair});
  }

  bool is_there(const Possible& merge) const {
    return tokens_[merge.place] != gone && has_next(merge.place) &&
           pair_of(tokens_[merge.place], tokens_[links_[merge.place].next]) == merge.pair;
  }

  void merge(const Possible& merge) {
    const std::size_t place = merge.place, right = links_[place].next;
    tokens_[place] = merge.token;
    tokens_[right] = gone;
    links_[place].next = links_[right].next;
    if (has_next(place)) links_[links_[place].next].before = place;
    if (place > 0) consider(links_[place].before);
    consider(place);
  }

  std::vector<std::int32_t> tokens_;
  const Merges& merges_;
  std::vector<Link> links_;
  std::priority_queue<Possible> possible_;
};

class BytePairs : public Tokenizer {
 public:
  BytePairs(TokenizerContent content, const std::string& name, const std::string& merges)
      : content_(std::move(content)),
        numbers_(numbers_of(content_.tokens, name)),
        specials_(numbers_, bpe_special_texts) {
    for (int byte = 0; byte < 256; ++byte) {
      const auto found = numbers_.find(letter_of(static_cast<unsigned char>(byte)));
      require<DataError>(found != numbers_.end(), name, ": expected a token for each byte, byte ",
                         byte, " ('", letter_of(static_cast<unsigned char>(byte)), "') has none");
      bytes_[static_cast<std::size_t>(byte)] = found->second;
    }
    for (const std::string& token : content_.tokens) texts_.push_back(bytes_of_letters(token));
    for (std::size_t i = 0; i < content_.merges.size(); ++i) add_merge(i, merges);
  }

  std::string_view kind() const override { return "bpe"; }
  std::int64_t size() const override { return std::ssize(content_.tokens); }
  bool is_lossless() const override { return true; }
  std::string json() const override { return json_of(content_); }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    specials_.for_each_part(
        text, [&](std::int32_t token) { tokens.push_back(token); },
        [&](std::string_view part) {
          for (std::string_view rest = part; !rest.empty();) add_word(take_gpt2_word(rest), tokens);
        });
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t token : tokens) {
      const std::size_t index = token_index(token, size());
      text += specials_.contains(token) ? content_.tokens[index] : texts_[index];
    }
    return text;
  }

 private:
  void add_merge(std::size_t rank, const std::string& name) {
    const std::string& line = content_.merges[rank];
    const auto number = [&](std::string_view text) {
      const auto found = numbers_.find(text);
      require<DataError>(found != numbers_.end(), name, ": merge ", rank + 1, ", '", line, "': '",
                         text, "' is not in the vocabulary");
      return found->second;
    };
    const std::size_t blank = line.find(' ');
    const bool two = blank != std::string::npos && blank > 0 && blank + 1 < line.size() &&
                     line.find(' ', blank + 1) == std::string::npos;
    require<DataError>(two, name, ": merge ", rank + 1,
                       ": expected two tokens with a blank between them, found '", line, '\'');
    const std::string left = line.substr(0, blank), right = line.substr(blank + 1);
    const Merge merge{static_cast<std::int32_t>(rank), number(left + right)};
    merges_.try_emplace(pair_of(number(left), number(right)), merge);
  }

  // Words come again and again: the tokens of short ones are kept.
  void add_word(std::string_view word, std::vector<std::int32_t>& tokens) const {
    constexpr std::size_t longest_kept = 64, most_kept = 1 << 16;
    if (word.size() <= longest_kept) {
      const std::shared_lock reading(mutex_);
      const auto found = known_.find(word);
      if (found != known_.end()) {
        tokens.insert(tokens.end(), found->second.begin(), found->second.end());
        return;
      }
    }
    std::vector<std::int32_t> bytes;
    for (const char byte : word) bytes.push_back(bytes_[static_cast<unsigned char>(byte)]);
    const std::vector<std::int32_t> merged = Merging(std::move(bytes), merges_).run();
    tokens.insert(tokens.end(), merged.begin(), merged.end());
    if (word.size() > longest_kept) return;
    const std::lock_guard alone(mutex_);
    if (known_.size() < most_kept) known_.emplace(word, merged);
  }

  TokenizerContent content_;
  TokenNumbers numbers_;
  SpecialTokens specials_;
  std::array<std::int32_t, 256> bytes_{};  // tokens of single bytes
  std::vector<std::string> texts_;         // of tokens, as bytes
  Merging::Merges merges_;
  mutable std::shared_mutex mutex_;  // guards what follows
  mutable std::unordered_map<std::string, std::vector<std::int32_t>, TextHash, std::equal_to<>>
      known_;
};

std::shared_ptr<const Tokenizer> make_bpe(const TokenizerOptions& options, std::string_view) {
  return std::make_shared<BytePairs>(TokenizerContent{.kind = "bpe",
                                                      .tokens = read_token_json(options.vocabulary),
                                                      .merges = read_merge_lines(options.merges)},
                                     options.vocabulary, options.merges);
}

std::shared_ptr<const Tokenizer> read_bpe(TokenizerContent content, const std::string& name) {
  return std::make_shared<BytePairs>(std::move(content), name, name);
}

}  // namespace
}  // namespace narrowgauge

NG_TOKENIZER(bpe, "bpe", "merged bytes, as GPT-2's", {},
             (std::vector<std::string_view>{"vocabulary", "merges"}), make_bpe, read_bpe)
