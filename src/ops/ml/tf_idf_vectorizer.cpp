// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/tf_idf_vectorizer.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "ops/no_gradient.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

using List = IndexedVector<std::int64_t, std::int64_t>;

// The place of an n-gram in the pool. The same one may be listed more than once.
using Pool = std::multimap<Dims, std::int64_t>;

// Throws UsageError where the lists do not fit each other.
Pool pool_of(const TfIdfVectorizer& op) {
  const List elements(op.pool_int64s), begins(op.ngram_counts);
  Pool pool;
  for (std::int64_t length = 1; length <= begins.size(); ++length) {
    const std::int64_t first = begins[length - 1];
    const std::int64_t end = length < begins.size() ? begins[length] : elements.size();
    require(first >= 0 && first <= end && end <= elements.size() && (end - first) % length == 0,
            "TfIdfVectorizer: ngram_counts ", op.ngram_counts, " do not divide a pool of ",
            elements.size(), " elements");
    for (std::int64_t start = first; start < end; start += length) {
      const auto from = elements.begin() + start;
      pool.emplace(Dims(from, from + length), std::ssize(pool));
    }
  }
  require(!pool.empty() && std::ssize(pool) == std::ssize(op.ngram_indexes),
          "TfIdfVectorizer: expected an index for each of ", pool.size(), " n-grams, got ",
          op.ngram_indexes.size());
  return pool;
}

// Calls use(n-gram) for each sequence in a row that may be in the pool.
template <class Use>
void for_each_gram(const TfIdfVectorizer& op, const List& row, const Use& use) {
  const std::int64_t count = row.size();
  const std::int64_t longest = std::min(op.max_gram_length, std::ssize(op.ngram_counts));
  for (std::int64_t length = op.min_gram_length; length <= longest; ++length) {
    // An n-gram of one element has no neighbours to skip between.
    const std::int64_t skips = length == 1 ? 0 : std::min(op.max_skip_count, count);
    for (std::int64_t step = 1; step <= skips + 1; ++step)
      for (std::int64_t start = 0; start + (length - 1) * step < count; ++start) {
        Dims gram;
        for (std::int64_t i = 0; i < length; ++i) gram.push_back(row[start + i * step]);
        use(gram);
      }
  }
}

// How often each n-gram of the pool is in the row.
List counts_of(const TfIdfVectorizer& op, const Pool& pool, const List& row) {
  List counts(pool.size());
  for_each_gram(op, row, [&](const Dims& gram) {
    const auto [first, last] = pool.equal_range(gram);
    std::for_each(first, last, [&](const auto& entry) { ++counts[entry.second]; });
  });
  return counts;
}

double score(const TfIdfVectorizer& op, std::int64_t place, std::int64_t count) {
  const double weight = op.weights.size() > 0 ? op.weights.at(place) : 1;
  if (op.mode == "TF") return static_cast<double>(count);
  if (op.mode == "TFIDF") return static_cast<double>(count) * weight;
  return count > 0 ? weight : 0;
}

void count_row(const TfIdfVectorizer& op, const Pool& pool, std::int64_t row,
               const ReferenceView& x, const ReferenceView& y) {
  const std::int64_t length = x.dims().back(), width = y.dims().back();
  List elements(length);
  for (std::int64_t i = 0; i < length; ++i) elements[i] = x.integer(row * length + i);
  const List counts = counts_of(op, pool, elements);
  for (std::int64_t i = 0; i < width; ++i) y.set(row * width + i, 0);
  for (const auto& [place, index] : enumerate(op.ngram_indexes)) {
    const std::int64_t at = row * width + index;
    y.set(at, y[at] + score(op, place, counts[place]));
  }
}

Offer tf_idf_vectorizer_reference(const Request& request) {
  const auto& op = request.as<TfIdfVectorizer>();
  return reference_offer(
      request, [op, pool = pool_of(op)](const auto& in, const auto& out, const KernelCall&) {
        const std::int64_t rows = out[0].size() / out[0].dims().back();
        for (std::int64_t row = 0; row < rows; ++row) count_row(op, pool, row, in[0], out[0]);
      });
}

constexpr Kernel tf_idf_vectorizer_kernels[] = {{"reference", tf_idf_vectorizer_reference}};

}  // namespace

TensorTypes TfIdfVectorizer::infer(const Inference& in) const {
  require(mode == "TF" || mode == "IDF" || mode == "TFIDF",
          "TfIdfVectorizer: the mode must be TF, IDF or TFIDF, got '", mode, "'");
  require(min_gram_length >= 1 && min_gram_length <= max_gram_length && max_skip_count >= 0,
          "TfIdfVectorizer: expected 1 <= min_gram_length <= max_gram_length and max_skip_count of "
          "at least 0, got ",
          min_gram_length, ", ", max_gram_length, " and ", max_skip_count);
  const std::int64_t grams = std::ssize(pool_of(*this));
  require(weights.size() == 0 || weights.size() == grams, "TfIdfVectorizer: expected ", grams,
          " weights, got ", weights.size());
  const auto [least, most] = std::minmax_element(ngram_indexes.begin(), ngram_indexes.end());
  require(*least >= 0 && *most < Tensor::most_elements,
          "TfIdfVectorizer: ngram_indexes must be from 0 to below ", Tensor::most_elements,
          ", got ", ngram_indexes);
  Shape shape = in.shape(0);
  require(shape.size() == 1 || shape.size() == 2, "TfIdfVectorizer: expected x [C] or [N,C], got ",
          in.type(0));
  shape.back() = *most + 1;
  return {{DType::f32, shape}};
}

std::span<const Kernel> TfIdfVectorizer::kernels() { return tf_idf_vectorizer_kernels; }

}  // namespace narrowgauge

NG_OPS(tf_idf_vectorizer, narrowgauge::TfIdfVectorizer)
NG_NO_GRADIENT(tf_idf_vectorizer, "whole numbers", narrowgauge::TfIdfVectorizer)
