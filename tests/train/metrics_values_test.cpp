// SPDX-License-Identifier: Apache-2.0
// Metrics against scikit-learn's, whose values metric_values.py prints, over batches of all sizes.
#include <gtest/gtest.h>

#include <map>

#include "narrowgauge/metrics.h"

namespace narrowgauge::metrics_values_test {
namespace {

constexpr std::int64_t rows = 60;

Tensor scores_of(std::int64_t classes) {
  Tensor scores(DType::f32, {rows, classes});
  for (std::int64_t i = 0; i < scores.size(); ++i)
    scores.set(i, static_cast<double>((i * 7919 + 13) % 101 % 17) / 4 - 2);
  return scores;
}

Tensor labels_of(std::int64_t classes) {
  Tensor labels(DType::i64, {rows});
  for (std::int64_t i = 0; i < rows; ++i)
    labels.set(i, static_cast<double>((i * 5 + i / 7) % classes));
  return labels;
}

Tensor rows_of(const Tensor& all, std::int64_t first, std::int64_t count) {
  Dims dims = all.dims();
  const std::int64_t width = all.size() / dims[0];
  dims[0] = count;
  Tensor part(all.dtype(), dims);
  for (std::int64_t i = 0; i < part.size(); ++i) part.set(i, all.at(first * width + i));
  return part;
}

MetricValue measure(const std::string& word, const Tensor& prediction, const Tensor& target,
                    std::int64_t batch) {
  MetricSet metrics({word});
  for (std::int64_t first = 0; first < rows; first += batch) {
    const std::int64_t count = std::min(batch, rows - first);
    metrics.add({rows_of(prediction, first, count), rows_of(target, first, count), 0, count});
  }
  return metrics.values().at(0);
}

using Values = std::map<std::string, double>;

void expect_values(const Tensor& prediction, const Tensor& target, const Values& expected) {
  for (const auto& [word, value] : expected)
    for (const std::int64_t batch : {1, 7, 60})
      EXPECT_NEAR(measure(word, prediction, target, batch).value, value, 1e-13 * (1 + value))
          << word << " in batches of " << batch;
}

void expect_by_class(const std::string& word, std::int64_t classes,
                     const std::vector<double>& expected) {
  const MetricValue found = measure(word, scores_of(classes), labels_of(classes), 7);
  ASSERT_EQ(found.by_class.size(), expected.size()) << word;
  for (std::size_t c = 0; c < expected.size(); ++c)
    EXPECT_NEAR(found.by_class[c], expected[c], 1e-13) << word << ' ' << c;
}

TEST(metrics_values, of_two_classes_are_those_of_scikit_learn) {
  expect_values(scores_of(2), labels_of(2),
                {{"f1", 0.466666666666667},
                 {"f1_micro", 0.466666666666667},
                 {"iou", 0.304347826086957},
                 {"iou_foreground", 0.304347826086957},
                 {"perplexity", 3.3162972364324},
                 {"auc", 0.502262443438914}});
  EXPECT_EQ(measure("confusion", scores_of(2), labels_of(2), 9).confusion.counts,
            (std::vector<std::int64_t>{14, 20, 12, 14}));
}

TEST(metrics_values, of_five_classes_are_those_of_scikit_learn) {
  expect_values(scores_of(5), labels_of(5),
                {{"f1", 0.161616161616162},
                 {"f1_micro", 0.2},
                 {"iou", 0.0927170868347339},
                 {"iou_foreground", 0.581818181818182},
                 {"perplexity", 9.67792228196656},
                 {"auc", 0.480059806009062}});
  EXPECT_EQ(measure("confusion", scores_of(5), labels_of(5), 9).confusion.counts,
            (std::vector<std::int64_t>{5, 4, 2, 1, 2, 4, 5, 2, 1, 2, 3, 5, 1,
                                       3, 2, 4, 3, 2, 1, 1, 3, 2, 1, 1, 0}));
  expect_by_class("f1_by_class", 5,
                  {0.303030303030303, 0.303030303030303, 0.0909090909090909, 0.111111111111111, 0});
  expect_by_class(
      "iou_by_class", 5,
      {0.178571428571429, 0.178571428571429, 0.0476190476190476, 0.0588235294117647, 0});
  expect_by_class("auc_by_class", 5,
                  {0.596273291925466, 0.448757763975155, 0.404503105590062, 0.534322820037106,
                   0.41644204851752});
  EXPECT_TRUE(measure("f1", scores_of(5), labels_of(5), 7).by_class.empty());
}

TEST(metrics_values, classes_that_are_absent_count_as_in_scikit_learn) {
  Tensor scores = scores_of(5), labels(DType::i64, {rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    scores.set(i * 5, -9);
    labels.set(i, static_cast<double>(i % 4));
  }
  expect_values(scores, labels, {{"f1", 0.150089126559715}, {"iou", 0.0866666666666667}});
}

TEST(metrics_values, errors_of_numbers_are_those_of_scikit_learn) {
  const Tensor predicted = scores_of(3);
  Tensor wanted(DType::f32, {rows, 3});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t k = 0; k < 3; ++k)
      wanted.set(row * 3 + k, predicted.at((rows - 1 - row) * 3 + k) / 2);
  expect_values(predicted, wanted, {{"mse", 1.20460069444444}, {"mae", 0.913194444444445}});
}

}  // namespace
}  // namespace narrowgauge::metrics_values_test
