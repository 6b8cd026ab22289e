// SPDX-License-Identifier: Apache-2.0
// Text as data for language models: files of text, their tokens, and windows of tokens as samples.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "narrowgauge/data.h"
#include "narrowgauge/tokenizer.h"

namespace narrowgauge {

// A text in its two parts.
struct NG_API TextSplit {
  std::string train, test;          // `test` is for evaluation alone
  std::int64_t replaced = 0;        // bytes that were no UTF-8, each now U+FFFD
  std::int64_t first_replaced = 0;  // place of the first of them in its file, in bytes from 0
};

// How a text is read.
struct NG_API TextReading {
  bool utf8 = true;  // replaces what is no UTF-8 and refuses NUL bytes; else the bytes as they are
};

// Reads a file of text, plain or gzipped, of which the last tenth of the bytes is for the test; or
// a folder with train.txt and test.txt. A byte order mark is left out. Throws DataError for what
// cannot be read, is empty, or is no text.
NG_API TextSplit read_text(const std::string& path, const TextReading& reading = {});

// Tokens of a text, in two bytes each where the vocabulary allows it, else in four.
class NG_API TokenList {
 public:
  explicit TokenList(std::int64_t vocabulary);             // of tokens from 0 to below `vocabulary`
  void append(std::span<const std::int32_t> tokens);       // throws UsageError for other numbers
  void reserve(std::int64_t count);                        // makes room for as many in all
  std::int64_t size() const;                               // tokens
  std::int32_t operator[](std::int64_t index) const;       // from 0 to below size()
  std::int64_t vocabulary() const { return vocabulary_; }  // tokens there are

 private:
  std::int64_t vocabulary_;
  std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>> tokens_;
};

// The tokens of a whole text, which is encoded piece by piece: the tokens are those of encode().
NG_API std::shared_ptr<const TokenList> tokens_of(const Tokenizer& tokenizer,
                                                  std::string_view text);

// Which windows of a list of tokens are samples.
enum class Windows : std::uint8_t {
  moving,  // for training: as many as stand side by side, from a place that each epoch draws anew
  tiling   // for evaluation: each token but the first is a target once
};

inline constexpr std::int64_t no_target = -100;  // behind the end of the text

// Windows of `context` tokens: a sample is the tokens i64 [context] and as targets i64 [context]
// those that follow each of them. The last window of a tiling is filled up with token 0 and
// no_target.
class NG_API TextSource : public DataSource {
 public:
  // Throws UsageError for fewer than context + 1 tokens in training, fewer than 2 otherwise.
  TextSource(std::shared_ptr<const TokenList> tokens, std::int64_t context, Windows windows,
             std::uint64_t seed = 1);

  std::int64_t size() const override;  // windows of an epoch
  TensorTypes sample_types() const override;
  // Windows of the first epoch.
  void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) override;
  // Windows of an epoch, counted from 0: where they begin is a function of seed and epoch. No
  // sample is ever damaged.
  std::vector<std::int64_t> read_epoch(std::span<const std::int64_t> indices, std::int64_t epoch,
                                       std::span<Tensor> batch) override;

 private:
  std::int64_t begin_of(std::int64_t window, std::int64_t epoch) const;

  Held<"text source", std::shared_ptr<const TokenList>> tokens_;
  std::int64_t context_;
  Windows windows_;
  std::uint64_t seed_;
};

}  // namespace narrowgauge
