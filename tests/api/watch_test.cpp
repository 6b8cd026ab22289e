// SPDX-License-Identifier: Apache-2.0
// How fit() judges a training by a metric: early stopping, the best checkpoint, a plateau's rate,
// and skipped steps in a row.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "api/runs/checkpoint_folder.h"
#include "api/small_training.h"
#include "api/training/metric_watch.h"
#include "io/files.h"

namespace narrowgauge::watch_test {
namespace {

using testing_files::TemporaryFolder;

// Without running statistics, which change at a rate of 0 too.
Value linear_network(Network& net) {
  const Value x = net.input("images", {net.batch(), 1, 12, 12});
  return net.linear(net.relu(net.linear(net.flatten(x), 16)), 4);
}

struct Fitted {
  Model model{"small", linear_network};
  Trainer trainer;

  explicit Fitted(Optimizer optimizer)
      : trainer(model, softmax_cross_entropy(), std::move(optimizer), {.deterministic = true}) {}

  FitResult fit(FitOptions options, const ProgressCallback& progress = {}) {
    options.batch = 16;
    return trainer.fit(small_source(64), small_source(20), options, progress);
  }
};

Optimizer stands_still() { return sgd(0); }

std::string error_of(const FitOptions& options) {
  try {
    Fitted(sgd(0.05)).fit(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(watch, patience_counts_what_is_not_better_by_more_than_the_least_change) {
  WatchState state;
  const WatchOptions loss{.metric = "loss", .patience = 2, .least_change = 0.1};
  EXPECT_EQ(judge(state, loss, {"loss", 1.0, Better::lower}), Verdict::best);
  EXPECT_EQ(judge(state, loss, {"loss", 0.9, Better::lower}), Verdict::best);
  EXPECT_EQ(why_over(state, loss), "");
  EXPECT_EQ(judge(state, loss, {"loss", NAN, Better::lower}), Verdict::no_better);
  EXPECT_EQ(why_over(state, loss),
            "loss was no better than 1 by more than 0.1 in 2 evaluations in a row");
  EXPECT_EQ(judge(state, loss, {"loss", 0.5, Better::lower}), Verdict::best);
  EXPECT_EQ(why_over(state, loss), "");
  WatchState of_share;
  const WatchOptions accuracy{.metric = "accuracy"};
  EXPECT_EQ(judge(of_share, accuracy, {"accuracy", 0.2, Better::higher}), Verdict::best);
  EXPECT_EQ(judge(of_share, accuracy, {"accuracy", 0.1, Better::higher}), Verdict::no_better);
  EXPECT_EQ(judge(of_share, accuracy, {"accuracy", 0.3, Better::higher}), Verdict::best);
}

TEST(watch, its_state_survives_as_text) {
  const WatchState state{"my own", 0.1, true, 1.0 / 3, true, 4, {0.1, 1e-300, true, 2, 1}};
  EXPECT_EQ(parse_watch_state(text_of(state), "here"), state);
  EXPECT_EQ(parse_watch_state(text_of({}), "here"), WatchState());
  for (const char* text : {"", "1", "1 1 -1 1 0 0 0 0 ", "1 1 0 1 0 0 0 0 9", "a b c"})
    EXPECT_THROW(parse_watch_state(text, "here"), DataError) << text;
}

TEST(watch, its_state_of_earlier_versions_has_one_best_and_no_metric) {
  const WatchState state{"", 0.25, true, 0.25, true, 3, {0.5, 0.125, true, 2, 1}};
  EXPECT_EQ(parse_watch_state("0.25 1 3 0.5 0.125 1 2 1 ", "here"), state);
}

TEST(watch, a_training_that_gets_no_better_ends_early_and_says_why) {
  Fitted run(stands_still());
  const FitResult result = run.fit({.epochs = 50, .watch = {.patience = 3}});
  EXPECT_EQ(result.steps, 4 * 4);
  EXPECT_FALSE(result.stopped);
  EXPECT_NE(result.ended_early.find("in 3 evaluations in a row"), std::string::npos);
  EXPECT_EQ(run.fit({.epochs = 50, .watch = {.patience = 3}}).steps, 0);
  EXPECT_EQ(run.fit({.epochs = 50, .watch = {.patience = 5}}).steps, 2 * 4);
}

TEST(watch, a_training_that_gets_better_does_not_end_early) {
  const FitResult result = Fitted(sgd(0.05)).fit({.epochs = 4, .watch = {.patience = 1}});
  EXPECT_EQ(result.steps, 4 * 4);
  EXPECT_EQ(result.ended_early, "");
}

TEST(watch, a_resumed_training_ends_where_it_would_have_ended) {
  const TemporaryFolder folder;
  const FitOptions options{.epochs = 50,
                           .checkpoints = {.folder = folder / "run", .every_steps = 4},
                           .watch = {.patience = 4}};
  {
    Fitted run(stands_still());
    int epochs = 0;
    run.fit(options, [&](const Progress& progress) {
      epochs += progress.epoch_done && progress.checkpoint.empty();
      return epochs < 3;
    });
  }
  Fitted resumed(stands_still());
  resumed.trainer.resume(folder / "run");
  EXPECT_EQ(resumed.fit(options).steps, 2 * 4);
}

TEST(watch, the_best_checkpoint_stays) {
  const TemporaryFolder folder;
  const std::string path = folder / "run";
  Fitted run(stands_still());
  run.fit({.epochs = 6, .checkpoints = {.folder = path, .keep = 2, .best = true}});
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::read_symlink(path + "/best"), "checkpoints/000001");
  EXPECT_EQ(fs::read_symlink(path + "/latest"), "checkpoints/000006");
  EXPECT_EQ(std::distance(fs::directory_iterator(path + "/checkpoints"), {}), 3);
  EXPECT_EQ(read_checkpoint(path + "/best").state.metadata.at("epoch"), "1");
  EXPECT_EQ(run_folder_of(path + "/best"), path);
  Fitted(stands_still()).fit({.epochs = 1, .checkpoints = {.folder = path}});
  EXPECT_FALSE(fs::exists(fs::symlink_status(path + "/best"))) << "of a run that is gone";
}

TEST(watch, the_best_checkpoint_is_written_also_where_none_is_due) {
  const TemporaryFolder folder;
  const std::string path = folder / "run";
  Fitted run(sgd(0.05));
  run.fit({.epochs = 3, .checkpoints = {.folder = path, .every_steps = 1000, .best = true}});
  EXPECT_EQ(read_checkpoint(path + "/best").state.metadata.at("epoch"), "3");
}

TEST(watch, the_best_checkpoint_is_the_best_whatever_the_least_change) {
  const TemporaryFolder folder;
  const std::string path = folder / "run";
  const FitResult result = Fitted(sgd(0.05)).fit({.epochs = 9,
                                                  .checkpoints = {.folder = path, .best = true},
                                                  .watch = {.patience = 2, .least_change = 100}});
  EXPECT_EQ(result.steps, 3 * 4) << "patience asks for more than the least change";
  EXPECT_EQ(read_checkpoint(path + "/best").state.metadata.at("epoch"), "3");
}

TEST(watch, another_metric_starts_the_record_anew_and_says_so) {
  std::string said;
  set_log_sink([&](LogLevel, const std::string& message) { said += message + '\n'; });
  Fitted run(stands_still());
  run.fit({.epochs = 2, .watch = {.metric = "loss", .patience = 3}});
  EXPECT_EQ(said, "");
  const FitResult result = run.fit({.epochs = 50, .watch = {.metric = "accuracy", .patience = 3}});
  set_log_sink({});
  EXPECT_EQ(result.steps, 4 * 4);
  EXPECT_EQ(said,
            "watch: judges by accuracy from here on, by loss before: what it saw of loss does "
            "not count\n");
}

TEST(watch, a_link_that_a_kill_left_behind_leads_to_the_best_again) {
  const TemporaryFolder folder;
  const std::string path = folder / "run";
  namespace fs = std::filesystem;
  Fitted(sgd(0.05)).fit({.epochs = 3, .checkpoints = {.folder = path, .best = true}});
  ASSERT_EQ(fs::read_symlink(path + "/best"), "checkpoints/000003");
  for (const bool first : {false, true}) {
    fs::remove(path + "/best");
    if (!first) fs::create_symlink("checkpoints/000002", path + "/best");
    const CheckpointFolder next_start(path);
    EXPECT_EQ(fs::read_symlink(path + "/best"), "checkpoints/000003") << first;
  }
}

TEST(watch, a_link_to_the_best_stays_where_later_checkpoints_are_none) {
  const TemporaryFolder folder;
  const std::string path = folder / "run";
  Fitted(stands_still()).fit({.epochs = 2, .checkpoints = {.folder = path, .best = true}});
  const CheckpointFolder next_start(path);
  EXPECT_EQ(std::filesystem::read_symlink(path + "/best"), "checkpoints/000001");
}

TEST(watch, a_folder_without_a_best_checkpoint_gets_the_next_as_its_best) {
  const TemporaryFolder folder;
  Fitted run(stands_still());
  run.fit({.epochs = 2, .watch = {.patience = 9}});
  run.fit({.epochs = 4, .checkpoints = {.folder = folder / "run", .best = true}});
  EXPECT_EQ(read_checkpoint(folder / "run/best").state.metadata.at("epoch"), "3");
}

TEST(watch, a_plateau_lowers_the_rate_of_the_following_steps) {
  Optimizer optimizer = stands_still();
  optimizer.learning_rate = 1e-30;
  optimizer.schedule.plateau = {.factor = 0.5, .patience = 1};
  Fitted run(optimizer);
  std::vector<double> rates;
  run.fit({.epochs = 6}, [&](const Progress& progress) {
    if (progress.epoch_done) rates.push_back(progress.last.learning_rate / 1e-30);
    return true;
  });
  ASSERT_EQ(rates.size(), 6u);
  const double expected[] = {1, 1, 1, 0.5, 0.5, 0.25};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(rates[i], expected[i], 1e-6) << i;
}

TEST(watch, skipped_steps_in_a_row_end_the_training_and_say_why) {
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer);
  optimizer.loss_scale = {.kind = LossScale::Kind::fixed, .initial = 0x1p60};
  Fitted run(optimizer);
  try {
    run.fit({.epochs = 10, .most_skips = 7});
    FAIL() << "it went on";
  } catch (const DivergedError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("the last 7 steps, up to step 7, were skipped: "), std::string::npos)
        << text;
    EXPECT_NE(text.find("the first value that is not finite is 'loss.gradient"), std::string::npos)
        << text;
  }
}

// A source whose samples from the given one on hold a NaN.
std::shared_ptr<DataSource> source_with_nan(std::int64_t samples) {
  auto images = Tensor(DType::f32, {samples, 1, 12, 12});
  images.set(images.size() - 1, NAN);
  return std::make_shared<TensorSource>(std::vector<Tensor>{images, Tensor(DType::i64, {samples})});
}

TEST(watch, what_is_not_finite_is_named_and_found_without_a_change) {
  Fitted run(sgd(0.05));
  const auto error = [&](const std::shared_ptr<DataSource>& source) -> std::string {
    try {
      run.trainer.fit(source, nullptr, {.epochs = 9, .batch = 16, .most_skips = 1});
    } catch (const DivergedError& diverged) {
      return diverged.what();
    }
    return "it went on";
  };
  const std::string before = run.model.sha256();
  const std::string of_input = error(source_with_nan(16));
  EXPECT_NE(
      of_input.find("step 1 was skipped: loss is not finite at a loss scale of 1; the first value "
                    "that is not finite is 'images' (f32)"),
      std::string::npos)
      << of_input;
  EXPECT_EQ(run.model.sha256(), before);
  const std::string name = run.model.state_names().front();
  Tensor weight = run.model.state(name);
  weight.set(0, INFINITY);
  run.model.set_state(name, weight);
  const std::string of_state = error(small_source(64));
  EXPECT_NE(of_state.find(concat("is '", name, "' (f32)")), std::string::npos) << of_state;
}

// Running statistics advance in a step whose gradients overflow: once, not again in the search.
TEST(watch, what_is_found_leaves_statistics_as_the_step_made_them) {
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer);
  optimizer.loss_scale = {.kind = LossScale::Kind::fixed, .initial = 0x1p60};
  const auto source = small_source(16);
  Model searched("small", small_network()), stepped("small", small_network());
  Trainer fits(searched, softmax_cross_entropy(), optimizer, {.deterministic = true});
  Trainer steps(stepped, softmax_cross_entropy(), optimizer, {.deterministic = true});
  const std::string before = searched.sha256();
  EXPECT_THROW(fits.fit(source, nullptr, {.batch = 16, .most_skips = 1}), DivergedError);
  BatchLoader loader(source, {.batch = 16, .seed = TrainerOptions().seed});
  EXPECT_FALSE(steps.step(loader.next().value().tensors).applied());
  EXPECT_NE(searched.sha256(), before);
  EXPECT_EQ(searched.sha256(), stepped.sha256());
}

TEST(watch, options_that_make_no_sense_are_refused) {
  EXPECT_NE(error_of({.watch = {.metric = "beauty"}}).find("got 'beauty'"), std::string::npos);
  EXPECT_NE(error_of({.watch = {.patience = -1}}).find("patience"), std::string::npos);
  EXPECT_NE(error_of({.watch = {.least_change = NAN}}).find("least_change"), std::string::npos);
  EXPECT_NE(error_of({.most_skips = 0}).find("most_skips"), std::string::npos);
  EXPECT_NE(error_of({.evaluate_each_epoch = false, .watch = {.patience = 1}}).find("evaluation"),
            std::string::npos);
}

}  // namespace
}  // namespace narrowgauge::watch_test
