// SPDX-License-Identifier: Apache-2.0
// What fit() reports, kept; gradients and metrics on the way there.
#include "narrowgauge/training_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "api/small_training.h"
#include "io/files.h"

namespace narrowgauge::training_log_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The steps of the rows.
std::vector<int> steps_of(const std::string& path) {
  std::vector<int> steps;
  for (const std::string& line : lines_of(read_file(path)))
    if (!line.starts_with("step")) steps.push_back(std::stoi(line));
  return steps;
}

TEST(training_log, has_a_row_every_so_many_steps_and_for_each_epoch) {
  const TemporaryFolder folder;
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05), {.metrics = {"f1", "auc"}});
  TrainingLog log({.csv = folder / "m.csv", .events = folder / "events", .every_steps = 3});
  trainer.fit(small_source(256), small_source(64), {.epochs = 2, .batch = 32},
              [&](const Progress& progress) {
                log.add(progress);
                return true;
              });
  EXPECT_EQ(steps_of(folder / "m.csv"), (std::vector<int>{3, 6, 8, 9, 12, 15, 16}));
  const auto lines = lines_of(read_file(folder / "m.csv"));
  EXPECT_EQ(lines[0],
            "step,epoch,loss,epoch_loss,gradient_norm,learning_rate,loss_scale,skipped_steps,"
            "samples_per_second,test_loss,test_accuracy,test_f1,test_auc");
  EXPECT_TRUE(lines[1].ends_with(",,,,")) << lines[1];
  EXPECT_FALSE(lines[3].ends_with(",")) << lines[3];
}

TEST(training_log, goes_on_after_a_resume_without_a_row_twice) {
  const TemporaryFolder folder;
  const auto fit = [&](Trainer& trainer, int epochs, int stop_at) {
    TrainingLog log({.csv = folder / "m.csv", .every_steps = 1});
    int steps = 0;
    FitOptions options{.epochs = epochs, .batch = 32};
    trainer.fit(small_source(128), nullptr, options, [&](const Progress& progress) {
      log.add(progress);
      return ++steps != stop_at;
    });
  };
  Model model("small", small_network());
  Trainer first(model, softmax_cross_entropy(), sgd(0.05));
  fit(first, 3, 7);  // six steps, and the report of the first epoch
  first.save(folder / "run");
  fit(first, 3, 0);
  Model again("small", small_network());
  Trainer second(again, softmax_cross_entropy(), sgd(0.05));
  second.resume(folder / "run");
  fit(second, 3, 0);
  std::vector<int> all(12);
  for (int i = 0; i < 12; ++i) all[static_cast<std::size_t>(i)] = i + 1;
  EXPECT_EQ(steps_of(folder / "m.csv"), all);
}

TEST(training_log, refuses_an_interval_of_nothing) {
  EXPECT_THROW(TrainingLog({.every_steps = 0}), UsageError);
}

TEST(gradients, of_a_trainer_are_those_of_a_step_in_every_format) {
  for (const DType narrow : {DType::f32, DType::f16}) {
    Optimizer optimizer = sgd(0.05);
    optimizer.groups = {{.pattern = "conv.*", .frozen = true}};
    if (narrow != DType::f32) enable_mixed_precision(optimizer, narrow);
    const auto batch = small_batch(0);
    Model model("small", small_network()), other("small", small_network());
    Trainer trainer(model, softmax_cross_entropy(), optimizer);
    EXPECT_TRUE(trainer.gradients().empty());
    trainer.keep_gradients(true);
    trainer.step(batch);
    const auto found = trainer.gradients();
    Step step(
        other, [](Network& net) { return softmax_cross_entropy()(net, small_network()(net)); },
        optimizer);
    step.backward(batch);
    const auto expected = step.gradients();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].name, expected[i].name);
      EXPECT_EQ(found[i].tensor.dtype(), DType::f32);
      double difference = 0, size = 0;
      for (std::int64_t k = 0; k < found[i].tensor.size(); ++k) {
        const double a = found[i].tensor.at(k), b = expected[i].tensor.at(k);
        difference = std::max(difference, std::abs(a - b));
        size = std::max(size, std::abs(b));
      }
      EXPECT_LE(difference, (narrow == DType::f32 ? 1e-5 : 4e-3) * size + 1e-9) << found[i].name;
    }
  }
}

TEST(gradients, that_are_no_longer_kept_stay_as_they_were) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  trainer.keep_gradients(true);
  trainer.step(small_batch(0));
  const Tensor before = trainer.gradients().at(0).tensor;
  trainer.keep_gradients(false);
  trainer.step(small_batch(1));
  EXPECT_TRUE(trainer.gradients().at(0).tensor.same_bits(before));
}

TEST(evaluation, leaves_out_the_label_that_the_loss_ignores) {
  Model model("small", small_network());
  const auto batch = small_batch(0, 64);
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < 64; ++i) others += batch[1].at(i) != 2;
  Trainer trainer(model, softmax_cross_entropy({.ignored = 2}), sgd(0.05),
                  {.metrics = {"confusion"}});
  const Evaluation found =
      trainer.evaluate(std::make_shared<TensorSource>(std::vector<Tensor>{batch[0], batch[1]}), 24);
  std::int64_t counted = 0;
  for (const std::int64_t count : found.metrics[0].confusion.counts) counted += count;
  EXPECT_EQ(counted, others);
  EXPECT_EQ(found.metrics[0].value, found.accuracy);
}

TEST(evaluation, measures_a_metric_of_the_program_itself) {
  class Count : public MetricAccumulator {
   public:
    void add(const MetricBatch& batch) override { count_ += static_cast<double>(batch.samples); }
    MetricResult result() const override { return {.value = count_}; }

   private:
    double count_ = 0;
  };
  Model model("small", small_network());
  TrainerOptions options{.metrics = {"top2"}};
  options.own_metrics = {{.name = "count", .begin = [] { return std::make_unique<Count>(); }}};
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05), options);
  for (int i = 0; i < 2; ++i) {  // each evaluation begins anew
    const Evaluation found = trainer.evaluate(small_source(50), 16);
    ASSERT_EQ(found.metrics.size(), 2u);
    EXPECT_EQ(found.metrics[1].name, "count");
    EXPECT_EQ(found.metrics[1].value, 50);
  }
}

}  // namespace
}  // namespace narrowgauge::training_log_test
