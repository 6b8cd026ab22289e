// SPDX-License-Identifier: Apache-2.0
// Labels of classes are whole numbers of any format: what is computed is the same.
#include <gtest/gtest.h>

#include "api/small_training.h"

namespace narrowgauge::label_formats_test {
namespace {

constexpr DType formats[] = {DType::i8,  DType::u8,  DType::i16, DType::u16,
                             DType::i32, DType::u32, DType::i64, DType::u64};

Objective classifying() {
  return [](Network& net) { return softmax_cross_entropy()(net, small_network()(net)); };
}

struct Results {
  std::string weights;
  double loss = 0, accuracy = 0, f1 = 0, auc = 0;
  bool operator==(const Results&) const = default;
};

std::shared_ptr<DataSource> source_of(DType format, std::int64_t count) {
  auto batch = small_batch(5, count);
  return std::make_shared<TensorSource>(std::vector<Tensor>{batch[0], batch[1].cast(format)});
}

TEST(label_formats, train_and_evaluate_alike_by_a_trainer) {
  const auto results_for = [](DType format, std::int64_t parts) {
    Model model("net", small_network());
    Trainer trainer(model, softmax_cross_entropy(), sgd(0.05),
                    {.deterministic = true, .accumulation = parts, .metrics = {"f1", "auc"}});
    auto batch = small_batch(0);
    batch[1] = batch[1].cast(format);
    trainer.step(batch);
    const FitResult fitted =
        trainer.fit(source_of(format, 64), source_of(format, 32), {.epochs = 2, .batch = 16});
    const Evaluation found = trainer.evaluate(source_of(format, 48));
    EXPECT_EQ(fitted.steps, 8);
    return Results{model.sha256(), found.loss, found.accuracy, found.metrics[0].value,
                   found.metrics[1].value};
  };
  for (const std::int64_t parts : {1, 2}) {
    const Results expected = results_for(DType::i64, parts);
    EXPECT_FALSE(std::isnan(expected.accuracy + expected.f1 + expected.auc));
    for (const DType format : formats)
      EXPECT_EQ(results_for(format, parts), expected) << name(format);
  }
}

TEST(label_formats, train_alike_by_a_step) {
  std::string expected;
  for (const DType format : formats) {
    Model model("net", small_network());
    Step step(model, classifying(), sgd(0.05), {.deterministic = true});
    auto batch = small_batch(0);
    batch[1] = batch[1].cast(format);
    step.step(batch);
    step.backward(batch);
    step.update();
    const double loss = step.forward(batch)[0].tensor.at(0);
    EXPECT_TRUE(std::isfinite(loss)) << name(format);
    if (expected.empty()) expected = model.sha256();
    EXPECT_EQ(model.sha256(), expected) << name(format);
  }
}

TEST(label_formats, of_metrics_apart) {
  Tensor scores(DType::f32, {6, 3}), labels(DType::i64, {6});
  for (std::int64_t i = 0; i < scores.size(); ++i) scores.set(i, std::sin(double(i * i)));
  for (std::int64_t i = 0; i < labels.size(); ++i) labels.set(i, double(i % 3));
  const std::vector<std::string> names{"accuracy", "auc", "confusion", "f1", "iou", "top2", "loss"};
  const auto values_of = [&](DType format) {
    MetricSet metrics(names);
    const Tensor target = labels.cast(format);
    metrics.add({.prediction = scores, .target = target, .loss = 1, .samples = 6, .ignored = 2});
    std::vector<double> values;
    for (const MetricValue& metric : metrics.values()) values.push_back(metric.value);
    return values;
  };
  const std::vector<double> expected = values_of(DType::i64);
  for (const DType format : formats) EXPECT_EQ(values_of(format), expected) << name(format);
}

// What no label can be stays what no label can be, whatever the format.
TEST(label_formats, of_64_bits_without_a_sign_do_not_turn_into_others) {
  Model model("net", small_network());
  Trainer trainer(model, softmax_cross_entropy({.ignored = -100}), sgd(0.05));
  auto batch = small_batch(0);
  batch[1] = batch[1].cast(DType::u64);
  batch[1].values<std::uint64_t>()[3] = std::uint64_t(-100);
  EXPECT_THROW(trainer.step(batch), UsageError);
}

}  // namespace
}  // namespace narrowgauge::label_formats_test
