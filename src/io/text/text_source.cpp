// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"
#include "narrowgauge/text_data.h"

namespace narrowgauge {

namespace {

std::shared_ptr<const TokenList> given(std::shared_ptr<const TokenList> tokens) {
  require(tokens != nullptr, "text: expected tokens, got none");
  return tokens;
}

}  // namespace

TextSource::TextSource(std::shared_ptr<const TokenList> tokens, std::int64_t context,
                       Windows windows, std::uint64_t seed)
    : tokens_(given(std::move(tokens))), context_(context), windows_(windows), seed_(seed) {
  require(context >= 1, "text: expected a context of at least 1 token, got ", context);
  const std::int64_t least = windows == Windows::moving ? context + 1 : 2;
  require(tokens_->size() >= least, "text: expected at least ", least, " tokens, got ",
          tokens_->size());
}

std::int64_t TextSource::size() const {
  const std::int64_t targets = tokens_->size() - 1;
  return windows_ == Windows::moving ? targets / context_ : (targets + context_ - 1) / context_;
}

TensorTypes TextSource::sample_types() const {
  return {{DType::i64, {context_}}, {DType::i64, {context_}}};
}

void TextSource::read(std::span<const std::int64_t> indices, std::span<Tensor> batch) {
  read_epoch(indices, 0, batch);
}

// Moving windows begin anywhere a whole one fits; side by side, they go round the text once.
std::int64_t TextSource::begin_of(std::int64_t window, std::int64_t epoch) const {
  if (windows_ == Windows::tiling) return window * context_;
  const std::int64_t places = tokens_->size() - context_;
  const RandomBlock bits =
      RandomStream(seed_, "text windows", static_cast<std::uint64_t>(epoch)).block(0);
  const std::uint64_t drawn = std::uint64_t{bits[0]} << 32 | bits[1];
  const auto first = static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(places));
  return (first + window * context_) % places;
}

std::vector<std::int64_t> TextSource::read_epoch(std::span<const std::int64_t> indices,
                                                 std::int64_t epoch, std::span<Tensor> batch) {
  const std::span<std::int64_t> tokens = batch[0].values<std::int64_t>();
  const std::span<std::int64_t> targets = batch[1].values<std::int64_t>();
  std::size_t at = 0;
  for (const std::int64_t index : indices) {
    const std::int64_t begin = begin_of(index, epoch);
    for (std::int64_t i = begin; i < begin + context_; ++i, ++at) {
      const bool inside = i + 1 < tokens_->size();
      tokens[at] = i < tokens_->size() ? (*tokens_)[i] : 0;
      targets[at] = inside ? (*tokens_)[i + 1] : no_target;
    }
  }
  return {};
}

}  // namespace narrowgauge
