// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/tf_idf_vectorizer.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<TfIdfVectorizer>> tf_idf_vectorizer_samples() {
  std::vector<Sample<TfIdfVectorizer>> all;
  for (const char* const mode : {"TF", "IDF", "TFIDF"}) {
    TfIdfVectorizer op;
    op.max_gram_length = 2;
    op.max_skip_count = 1;
    op.mode = mode;
    op.ngram_counts = {0, 2};
    op.ngram_indexes = {0, 3, 1, 4};
    op.pool_int64s = {1, 2, 1, 2, 2, 0};
    op.weights = Tensor::from<float>({4}, {0.5F, 2, 3, 0.25F});
    all.push_back({op, {sample("i64[3,9]", 0, 2)}});
    all.push_back({op, {sample("i32[5]", 0, 2)}});
  }
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(tf_idf_vectorizer, tf_idf_vectorizer_samples())
