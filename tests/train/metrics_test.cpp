// SPDX-License-Identifier: Apache-2.0
// What an evaluation measures: kinds of labels, ignored labels, values that are not finite, and
// accumulators of a program's own.
#include "narrowgauge/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "narrowgauge/error.h"

namespace narrowgauge::metrics_test {
namespace {

double measured(const char* word, const Tensor& scores, const Tensor& labels, double loss = 0) {
  MetricSet metrics({word});
  metrics.add({scores, labels, loss, labels.dims()[0]});
  return metrics.values().at(0).value;
}

TEST(metrics, accuracy_counts_the_highest_scores_of_finite_rows) {
  const Tensor scores = Tensor::from<float>({4, 3}, {1, 3, 2, 5, 5, 0, NAN, 9, 0, 1, 2, INFINITY});
  const Tensor labels = Tensor::from<std::int64_t>({4}, {1, 0, 1, 2});
  EXPECT_EQ(measured("accuracy", scores, labels), 0.5);  // of equal scores the first is taken
}

TEST(metrics, targets_that_are_no_classes_have_no_accuracy_and_no_matrix) {
  const Tensor scores = Tensor::from<float>({2, 1}, {1, 3});
  for (const Tensor& target : {Tensor(DType::f32, {2}), Tensor(DType::i64, {2, 1}),
                               Tensor(DType::i64, {3}), Tensor::from<float>({2, 1}, {0.5, 1})}) {
    EXPECT_TRUE(std::isnan(measured("accuracy", scores, target)));
    for (const char* word : {"confusion", "f1", "iou", "iou_foreground", "auc", "perplexity"})
      EXPECT_TRUE(std::isnan(measured(word, scores, target))) << word;
  }
}

TEST(metrics, labels_that_are_ignored_or_no_class_do_not_count) {
  const Tensor scores = Tensor::from<float>({5, 2}, {1, 2, 2, 1, 1, 2, 1, 2, 2, 1});
  const Tensor labels = Tensor::from<std::int64_t>({5}, {1, -100, 255, 0, 0});
  MetricSet metrics({"accuracy", "top1", "confusion", "f1", "auc", "perplexity"});
  metrics.add({scores, labels, 0, 5});
  const double right = 2.0 / 3;
  EXPECT_EQ(metrics.values()[0].value, right);
  EXPECT_EQ(metrics.values()[1].value, right);
  EXPECT_EQ(metrics.values()[2].confusion.counts, (std::vector<std::int64_t>{1, 1, 0, 1}));
  MetricSet ignoring({"accuracy"});
  ignoring.add({scores, labels, 0, 5, 0});
  EXPECT_EQ(ignoring.values()[0].value, 1);
}

TEST(metrics, masks_count_pixel_by_pixel) {
  // Two images of two classes and three pixels.
  const Tensor scores = Tensor::from<float>({2, 2, 3}, {1, 0, 5, 0, 1, 4, 9, 9, 9, 0, 0, 0});
  const Tensor labels = Tensor::from<std::int64_t>({2, 3}, {0, 1, 1, 0, 0, 1});
  EXPECT_EQ(measured("accuracy", scores, labels), 4.0 / 6);
  EXPECT_EQ(measured("iou_foreground", scores, labels), 1.0 / 3);
  EXPECT_EQ(measured("iou", scores, labels), (3.0 / 5 + 1.0 / 3) / 2);
}

TEST(metrics, logits_of_yes_or_no_are_two_classes) {
  const Tensor logits = Tensor::from<float>({2, 1, 2}, {-1, 2, 3, -4});
  const Tensor mask = Tensor::from<float>({2, 1, 2}, {0, 1, 0, 1});
  EXPECT_EQ(measured("accuracy", logits, mask), 0.5);
  EXPECT_EQ(measured("iou_foreground", logits, mask), 1.0 / 3);
  EXPECT_EQ(measured("auc", logits, mask), 0.25);  // 2 > -1 alone of four pairs
}

TEST(metrics, narrow_predictions_measure_as_their_values_in_f32_do) {
  const Tensor scores = Tensor::from<float>({3, 3}, {1, 3, 2, 5, 5, 0, -1, 0.1f, 0.1001f});
  const Tensor labels = Tensor::from<std::int64_t>({3}, {1, 0, 2});
  for (const DType narrow : {DType::f16, DType::bf16, DType::f64})
    for (const char* word : {"accuracy", "f1", "auc", "perplexity", "top2", "iou"})
      EXPECT_EQ(measured(word, scores.cast(narrow), labels),
                measured(word, scores.cast(narrow).cast(DType::f32), labels))
          << word;
}

TEST(metrics, values_that_are_not_finite_are_counted_and_never_agree) {
  const Tensor scores = Tensor::from<float>({4, 2}, {NAN, 1, 3, 0, INFINITY, 1, 0, 3});
  const Tensor labels = Tensor::from<std::int64_t>({4}, {1, 0, 0, 1});
  MetricSet metrics({"confusion", "f1", "iou"});
  metrics.add({scores, labels, 0, 4});
  const ConfusionMatrix matrix = metrics.values()[0].confusion;
  EXPECT_EQ(matrix.counts, (std::vector<std::int64_t>{1, 0, 0, 1}));
  EXPECT_EQ(matrix.not_finite, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(metrics.values()[0].value, 0.5);
  EXPECT_EQ(metrics.values()[1].value, 2.0 / 3);  // 2 hits / (2 labels + 1 prediction)
  EXPECT_EQ(metrics.values()[2].value, 0.5);
  EXPECT_EQ(measured("auc", scores, labels), 0.25);  // the finite pair of four
  EXPECT_TRUE(std::isnan(measured("perplexity", scores, labels)));
  EXPECT_TRUE(std::isnan(measured("mse", scores, Tensor(DType::f32, {4, 2}))));
}

TEST(metrics, nothing_to_measure_is_no_number) {
  MetricSet metrics({"accuracy", "f1", "iou", "confusion", "auc", "perplexity", "mse", "mae"});
  for (const MetricValue& each : metrics.values())
    EXPECT_TRUE(each.name == "accuracy" ? each.value == 0 : std::isnan(each.value)) << each.name;
  const Tensor scores = Tensor::from<float>({2, 2}, {1, 0, 2, 0});
  const Tensor one_class = Tensor::from<std::int64_t>({2}, {0, 0});
  EXPECT_TRUE(std::isnan(measured("auc", scores, one_class)));
  EXPECT_TRUE(std::isnan(measured("iou_foreground", scores, one_class)));
  EXPECT_EQ(measured("f1", scores, one_class), 1);  // class 1 neither occurs nor is predicted
}

TEST(metrics, loss_counts_each_sample_alike) {
  MetricSet metrics({"loss"});
  metrics.add({Tensor(DType::f32, {4, 2}), Tensor(DType::i64, {4}), 0.25, 4});
  metrics.add({Tensor(DType::f32, {1, 2}), Tensor(DType::i64, {1}), 1.5, 1});
  EXPECT_EQ(metrics.values()[0].value, 0.5);
}

TEST(metrics, tell_which_values_are_better) {
  for (const char* word : {"accuracy", "top5", "f1_micro", "iou_foreground", "auc", "confusion"})
    EXPECT_EQ(better_of(word), Better::higher) << word;
  for (const char* word : {"loss", "perplexity", "mse", "mae"})
    EXPECT_EQ(better_of(word), Better::lower) << word;
}

class Batches : public MetricAccumulator {
 public:
  void add(const MetricBatch&) override { ++count_; }
  MetricResult result() const override { return {.value = count_}; }

 private:
  double count_ = 0;
};

TEST(metrics, a_program_brings_its_own) {
  const OwnMetric own{.name = "batches", .better = Better::lower, .begin = [] {
                        return std::make_unique<Batches>();
                      }};
  MetricSet metrics({"loss"}, {own});
  for (int i = 0; i < 3; ++i) metrics.add({Tensor(), Tensor(), 1, 1});
  EXPECT_EQ(metrics.values()[1].name, "batches");
  EXPECT_EQ(metrics.values()[1].value, 3);
  EXPECT_EQ(metrics.values()[1].better, Better::lower);
  EXPECT_THROW(MetricSet({}, {{.name = "none"}}), UsageError);
}

TEST(metrics, unknown_words_are_refused_with_those_there_are) {
  for (const char* word : {"recall", "top", "top0", "top-1", "top5x", "stop5", "f1_", "iou_mean",
                           "aucs", "auc_by_class_", "mean", ""})
    EXPECT_THROW(better_of(word), UsageError) << word;
  try {
    better_of("recall");
  } catch (const UsageError& error) {
    EXPECT_TRUE(std::string(error.what())
                    .starts_with("metric: expected one of accuracy, auc, confusion, mse, mae, f1, "
                                 "iou, loss, perplexity, "
                                 "top<k>, got 'recall'"))
        << error.what();
  }
}

}  // namespace
}  // namespace narrowgauge::metrics_test
