// SPDX-License-Identifier: Apache-2.0
// Top-k accuracy against ranks by sorting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "narrowgauge/metrics.h"

namespace narrowgauge::top_k_test {
namespace {

// The number of labels that count as right.
double top(const std::string& word, const Tensor& scores, const Tensor& labels) {
  MetricSet metrics({word});
  metrics.add({scores, labels, 0, labels.size()});
  return std::round(metrics.values()[0].value * static_cast<double>(labels.size()));
}

TEST(top_k, counts_the_right_classes_among_the_first) {
  constexpr std::int64_t rows = 200, classes = 7;
  const RandomStream random(5, "scores");
  Tensor scores(DType::f32, {rows, classes}), labels(DType::i64, {rows});
  for (std::int64_t i = 0; i < scores.size(); ++i)  // of few values, so that some are equal
    scores.set(i, std::round(3 * random.normal(static_cast<std::uint64_t>(i))));
  for (std::int64_t i = 0; i < rows; ++i) labels.set(i, static_cast<double>(i % classes));
  for (const int k : {1, 2, 5, 7, 20}) {
    int expected = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<std::int64_t> order(classes);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, std::greater{},
                               [&](std::int64_t c) { return scores.at(row * classes + c); });
      order.resize(std::min<std::size_t>(order.size(), static_cast<std::size_t>(k)));
      expected += std::ranges::count(order, row % classes) > 0;
    }
    EXPECT_EQ(top(concat("top", k), scores, labels), expected) << k;
  }
  EXPECT_EQ(top("top1", scores, labels), top("accuracy", scores, labels));
}

TEST(top_k, rows_that_are_not_finite_are_counted_and_never_right) {
  const Tensor scores = Tensor::from<float>({2, 2}, {1, 2, NAN, 5});
  EXPECT_EQ(top("top2", scores, Tensor::from<std::int64_t>({2}, {0, 1})), 1);
}

}  // namespace
}  // namespace narrowgauge::top_k_test
