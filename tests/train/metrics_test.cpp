// SPDX-License-Identifier: Apache-2.0
// What an evaluation measures on a batch.
#include <gtest/gtest.h>

#include <cmath>

#include "narrowgauge/error.h"
#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

double sum(const char* word, const Tensor& scores, const Tensor& labels, double loss = 0) {
  return find_metric(word).sum({scores, labels, loss, labels.size()});
}

TEST(metrics, accuracy_counts_the_highest_scores_of_finite_rows) {
  const Tensor scores = Tensor::from<float>({4, 3}, {1, 3, 2, 5, 5, 0, NAN, 9, 0, 1, 2, INFINITY});
  const Tensor labels = Tensor::from<std::int64_t>({4}, {1, 0, 1, 2});
  EXPECT_EQ(sum("accuracy", scores, labels), 2);  // of equal scores the first is taken
}

TEST(metrics, targets_that_are_no_classes_have_no_accuracy) {
  const Tensor scores = Tensor::from<float>({2, 1}, {1, 3});
  EXPECT_EQ(sum("accuracy", scores, Tensor(DType::f32, {2})), 0);
  EXPECT_EQ(sum("accuracy", scores, Tensor(DType::i64, {2, 1})), 0);
  EXPECT_EQ(sum("accuracy", scores, Tensor(DType::i64, {3})), 0);
}

TEST(metrics, loss_counts_each_sample_alike) {
  EXPECT_EQ(sum("loss", Tensor(DType::f32, {4, 2}), Tensor(DType::i64, {4}), 0.25), 1.0);
}

TEST(metrics, unknown_words_are_refused_with_those_there_are) {
  try {
    find_metric("recall");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("metric: expected one of accuracy, loss"))
        << error.what();
  }
}

}  // namespace
}  // namespace narrowgauge
