// SPDX-License-Identifier: Apache-2.0
// Tokenizers: how a text becomes the numbers that a language model reads, and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/export.h"

namespace narrowgauge {

// Turns text into tokens, numbers from 0 to below size(), and back. Does not change: any number of
// threads may use one.
class NG_API Tokenizer {
 public:
  virtual ~Tokenizer();
  virtual std::string_view kind() const = 0;  // as tokenizer_kinds() has it
  virtual std::int64_t size() const = 0;      // tokens there are
  // The tokens of a text in UTF-8. Bytes that are no UTF-8 count as U+FFFD each, unless the kind
  // keeps bytes.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  // The text of tokens, which may begin or end within a character where the kind keeps bytes.
  // Throws UsageError for a number that is no token.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
  // Whether decode() gives back every text of characters that the tokenizer knows.
  virtual bool is_lossless() const = 0;
  // The token of what the tokenizer does not know; -1 where it knows everything.
  virtual std::int32_t unknown() const { return -1; }
  // All of it, as tokenizer_of_json() reads it.
  virtual std::string json() const = 0;
};

// Which tokenizer is made.
struct NG_API TokenizerOptions {
  std::string kind = "character";  // one of tokenizer_kinds()
  std::int64_t most = 0;           // words: at most so many tokens, the frequent ones; 0: all
  std::int64_t least_count = 1;    // words: those that the text has at least so often
  std::string vocabulary{};        // path; wordpiece: a token a line; bpe: JSON of tokens and ids
  std::string merges{};            // path; bpe: the merges, most important first
  bool cased = false;              // wordpiece: keeps case and accents
};

// Makes a tokenizer:
//   character  each Unicode code point of `text` is a token, and one stands for all others
//   bytes      each byte is a token: 256
//   word       words, numbers and punctuation of `text`; line feeds are tokens, blanks are not
//   wordpiece  BERT's: pieces of words by a vocabulary file (Devlin et al. 2019)
//   bpe        GPT-2's: merges of bytes by two files (Sennrich et al. 2016, Radford et al. 2019)
// Throws UsageError for options that the kind does not take or lacks, DataError for files that
// cannot be read or are damaged.
NG_API std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerOptions& options,
                                                       std::string_view text);
// Reads what json() gave; throws DataError that begins with `name`.
NG_API std::shared_ptr<const Tokenizer> tokenizer_of_json(const std::string& json,
                                                          const std::string& name);
NG_API std::vector<std::string> tokenizer_kinds();  // "bpe", "bytes", "character", ...

}  // namespace narrowgauge
