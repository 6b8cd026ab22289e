// SPDX-License-Identifier: Apache-2.0
// The loop over epochs: what it reports, when it evaluates, when it saves and when it stops.
#include <gtest/gtest.h>

#include <cmath>

#include "api/runs/checkpoint_folder.h"
#include "api/small_training.h"
#include "io/files.h"

namespace narrowgauge::fit_test {
namespace {

using testing_files::TemporaryFolder;

// A training of batches of 16 from 64 samples, four steps an epoch.
struct Fitted {
  Model model{"small", small_network()};
  Trainer trainer{model, softmax_cross_entropy(), sgd(0.05), {.deterministic = true}};
  std::vector<Progress> told;

  FitResult fit(FitOptions options, std::size_t most_calls = 1000) {
    options.batch = 16;
    return trainer.fit(small_source(64), small_source(20), options, [&](const Progress& progress) {
      told.push_back(progress);
      return told.size() < most_calls;
    });
  }
};

std::int64_t checkpoints_in(const std::vector<Progress>& told) {
  return std::count_if(told.begin(), told.end(),
                       [](const Progress& each) { return !each.checkpoint.empty(); });
}

TEST(fit, tells_of_every_step_and_of_the_end_of_each_epoch) {
  Fitted run;
  const FitResult result = run.fit({.epochs = 2});
  ASSERT_EQ(run.told.size(), 10u);
  double sum = 0;
  for (std::size_t i = 0; i < run.told.size(); ++i) {
    const Progress& progress = run.told[i];
    const std::size_t call = i % 5;
    EXPECT_EQ(progress.epoch, i / 5);
    EXPECT_EQ(progress.epochs, 2);
    EXPECT_EQ(progress.batches, 4);
    EXPECT_EQ(progress.batch, std::min<std::size_t>(call + 1, 4));
    EXPECT_EQ(progress.epoch_done, call == 4);
    EXPECT_EQ(progress.evaluation.has_value(), call == 4);
    if (call == 0) sum = 0;
    if (call == 4) continue;
    sum += progress.last.loss;
    EXPECT_DOUBLE_EQ(progress.mean_loss, sum / static_cast<double>(call + 1));
  }
  EXPECT_EQ(result.steps, 8);
  EXPECT_EQ(result.skipped_steps, 0);
  EXPECT_EQ(result.first_loss, run.told[0].last.loss);
  EXPECT_EQ(result.final_loss, run.told[9].mean_loss);
  EXPECT_EQ(result.test.samples, 20);
  EXPECT_EQ(result.test.loss, run.told[9].evaluation->loss);
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(result.checkpoint, "");
}

TEST(fit, evaluates_at_the_end_alone_where_it_is_told_to) {
  Fitted run;
  const FitResult result = run.fit({.epochs = 2, .evaluate_each_epoch = false});
  EXPECT_FALSE(run.told[4].evaluation);
  EXPECT_TRUE(run.told[9].evaluation);
  EXPECT_EQ(result.test.samples, 20);
}

TEST(fit, stops_after_the_step_at_which_it_is_told_to) {
  Fitted run;
  const FitResult result = run.fit({.epochs = 2}, 3);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(run.trainer.applied_steps(), 3);
  EXPECT_EQ(run.trainer.epochs_done(), 0);
  EXPECT_EQ(result.final_loss, run.told.back().mean_loss);
}

TEST(fit, does_what_is_left_of_the_epochs) {
  Fitted stopped, whole;
  stopped.fit({.epochs = 2}, 3);
  stopped.told.clear();
  const FitResult rest = stopped.fit({.epochs = 2});
  whole.fit({.epochs = 2});
  EXPECT_EQ(rest.steps, 5);
  EXPECT_EQ(stopped.told[0].batch, 4);
  EXPECT_EQ(stopped.model.sha256(), whole.model.sha256());
  EXPECT_EQ(stopped.trainer.epochs_done(), 2);
}

TEST(fit, saves_every_so_many_steps_and_at_the_end) {
  TemporaryFolder folder;
  Fitted run;
  const FitResult result =
      run.fit({.epochs = 2, .checkpoints = {.folder = folder / "run", .every_steps = 3}});
  std::vector<std::int64_t> steps;
  std::int64_t step = 0;
  for (const Progress& progress : run.told) {
    if (!progress.checkpoint.empty()) steps.push_back(step);
    if (progress.checkpoint.empty() && !progress.epoch_done) ++step;
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{3, 6, 8}));
  EXPECT_EQ(result.checkpoint, run.told.back().checkpoint);
  EXPECT_EQ(read_checkpoint(folder / "run").path, result.checkpoint);
}

TEST(fit, saves_after_each_epoch_unless_told_otherwise_and_keeps_the_last) {
  for (const std::int64_t every : {0, 2}) {
    TemporaryFolder folder;
    Fitted run;
    run.fit(
        {.epochs = 3, .checkpoints = {.folder = folder / "run", .every_epochs = every, .keep = 1}});
    EXPECT_EQ(checkpoints_in(run.told), every == 0 ? 3 : 2) << every;
    std::int64_t kept = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "run/checkpoints"))
      kept += entry.is_directory();
    EXPECT_EQ(kept, 1);
  }
}

TEST(fit, saves_by_time) {
  TemporaryFolder folder;
  Fitted often, never;
  often.fit({.checkpoints = {.folder = folder / "often", .every_seconds = 1e-9}});
  EXPECT_EQ(checkpoints_in(often.told), 4);  // after each step
  never.fit({.checkpoints = {.folder = folder / "never", .every_seconds = 1e9}});
  EXPECT_EQ(checkpoints_in(never.told), 1);  // at the end
}

TEST(fit, refuses_times_that_are_none) {
  for (const double seconds : {-1.0, double{NAN}, double{INFINITY}}) {
    TemporaryFolder folder;
    Fitted run;
    EXPECT_THROW(run.fit({.checkpoints = {.folder = folder / "run", .every_seconds = seconds}}),
                 UsageError)
        << seconds;
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  }
}

TEST(fit, writes_to_a_folder_that_its_caller_has_locked) {
  TemporaryFolder folder;
  const std::string path = folder / "run";
  const auto locked = std::make_shared<CheckpointFolder>(path);
  Fitted refused, run;
  EXPECT_THROW(refused.fit({.checkpoints = {.folder = path}}), UsageError);
  const FitResult result = run.fit({.checkpoints = {.folder = path, .locked = locked}});
  EXPECT_EQ(read_checkpoint(path).path, result.checkpoint);
}

TEST(fit, ends_where_no_loss_is_finite) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  auto batch = small_batch(1, 96);
  for (float& pixel : batch[0].values<float>()) pixel = NAN;
  const auto source = std::make_shared<TensorSource>(std::vector<Tensor>{batch[0], batch[1]});
  EXPECT_THROW(trainer.fit(source, nullptr, {.epochs = 1, .batch = 16}), DivergedError);
}

TEST(fit, refuses_no_epochs_and_no_samples) {
  Fitted run;
  EXPECT_THROW(run.fit({.epochs = 0}), UsageError);
  EXPECT_THROW(run.trainer.fit(small_source(8), nullptr, {.batch = 16}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::fit_test
