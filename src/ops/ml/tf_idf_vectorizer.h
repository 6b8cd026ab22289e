// SPDX-License-Identifier: Apache-2.0
// Counts of short sequences in longer ones.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [C] or [N, C] -> y [max(ngram_indexes) + 1] or [N, that] in f32. The pool lists n-grams, first
// those of one element, then of two and so on; ngram_counts says where each length begins. Those of
// min_gram_length to max_gram_length elements are looked for in each row, with 0 to max_skip_count
// elements left out between neighbours. The i-th n-gram of the pool counts at ngram_indexes[i]:
// `mode` TF has how often it is there, TFIDF that times weights[i], IDF weights[i] if it is there
// at all. Weights that are not given are 1. ONNX's TfIdfVectorizer, without texts.
struct TfIdfVectorizer {
  static constexpr OpInfo info{
      .name = "TfIdfVectorizer", .inputs = "x:I!", .outputs = "y:f32", .types = "I:index"};
  std::int64_t max_gram_length = 1, max_skip_count = 0, min_gram_length = 1;
  std::string mode = "TF";
  Dims ngram_counts, ngram_indexes, pool_int64s;
  Tensor weights;
  static void attributes(auto& self, auto&& visit) {
    visit("max_gram_length", self.max_gram_length);
    visit("max_skip_count", self.max_skip_count);
    visit("min_gram_length", self.min_gram_length);
    visit("mode", self.mode);
    visit("ngram_counts", self.ngram_counts);
    visit("ngram_indexes", self.ngram_indexes);
    visit("pool_int64s", self.pool_int64s);
    visit("weights", self.weights);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
