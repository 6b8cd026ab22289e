// SPDX-License-Identifier: Apache-2.0
// Trainings by Steps go on from their checkpoints as if never stopped.
#include <gtest/gtest.h>

#include "api/small_training.h"
#include "io/files.h"

namespace narrowgauge::step_resume_test {
namespace {

using testing_files::TemporaryFolder;

Objective classifying() {
  return [](Network& net) { return softmax_cross_entropy()(net, small_network()(net)); };
}

// Two steps with moments, a schedule, averages, random numbers and a loss scale.
struct Training {
  explicit Training(DType narrow = DType::f32)
      : model("net", small_network()),
        convolutions(model, classifying(), optimizer(narrow, true, adamw(1e-3)),
                     {.name = "convolutions", .parameters = {"conv*"}, .deterministic = true}),
        rest(model, classifying(), optimizer(narrow, true, sgd(0.05)),
             {.name = "rest", .parameters = {"batchnorm*", "linear*"}, .deterministic = true}) {}

  static Optimizer optimizer(DType narrow, bool masters, Optimizer optimizer) {
    if (narrow != DType::f32) enable_mixed_precision(optimizer, narrow);
    optimizer.precision.master_weights = masters;
    if (!masters) optimizer.precision.rounding = WeightRounding::kahan;
    optimizer.schedule = {.name = "cosine", .warmup_steps = 3, .total_steps = 40};
    optimizer.ema_decay = 0.9;
    return optimizer;
  }
  void go(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) {
      convolutions.step(small_batch(i));
      rest.backward(small_batch(i));
      rest.update();
      if (i == 2) convolutions.freeze("conv.*");
      if (i == 4) convolutions.thaw("conv.*");
      if (i == 8) convolutions.freeze("conv_2.*");
    }
  }
  std::string averages() {
    convolutions.swap_averages();
    std::string sum = model.sha256();
    convolutions.swap_averages();
    return sum;
  }
  Model model;
  Step convolutions, rest;
};

TEST(step_resume, goes_on_as_if_never_stopped) {
  for (const DType narrow : {DType::f32, DType::f16, DType::bf16})
    for (const std::uint64_t stop : {4U, 6U, 10U}) {
      const TemporaryFolder folder;
      Training whole(narrow);
      whole.go(0, stop);
      whole.rest.save(folder / "run");
      const std::int64_t applied = whole.rest.applied_steps();
      whole.go(stop, 14);
      Training resumed(narrow);
      resumed.convolutions.resume(folder / "run");
      EXPECT_EQ(resumed.rest.applied_steps(), applied);
      resumed.go(stop, 14);
      EXPECT_EQ(resumed.model.sha256(), whole.model.sha256()) << name(narrow) << ' ' << stop;
      EXPECT_EQ(resumed.averages(), whole.averages()) << name(narrow) << ' ' << stop;
      EXPECT_EQ(resumed.rest.loss_scale(), whole.rest.loss_scale());
    }
}

TEST(step_resume, keeps_what_weights_without_masters_lost) {
  const TemporaryFolder folder;
  const auto train = [](Step& step, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) step.step(small_batch(i));
  };
  const auto optimizer = Training::optimizer(DType::bf16, false, sgd(0.05));
  Model model("net", small_network()), other("net", small_network());
  Step whole(model, classifying(), optimizer, {.deterministic = true});
  train(whole, 0, 5);
  whole.save(folder / "run");
  train(whole, 5, 10);
  Step resumed(other, classifying(), optimizer, {.deterministic = true});
  resumed.resume(folder / "run");
  train(resumed, 5, 10);
  EXPECT_EQ(other.sha256(), model.sha256());
}

TEST(step_resume, takes_back_what_was_done_since_in_the_same_process) {
  const TemporaryFolder folder;
  Training training;
  training.go(0, 2);
  training.rest.save(folder / "run");
  training.go(2, 14);  // freezes and thaws
  const std::string expected = training.model.sha256();
  training.rest.resume(folder / "run");
  training.go(2, 14);
  EXPECT_EQ(training.model.sha256(), expected);
}

TEST(step_resume, keeps_files_beside_and_the_last_two_checkpoints) {
  const TemporaryFolder folder;
  Training training;
  GradScaler scaler({.initial = 8});
  for (std::uint64_t i = 0; i < 3; ++i) {
    training.go(i, i + 1);
    const std::string path =
        training.rest.save(folder / "run", {{"place.txt", concat("batch ", i)}});
    EXPECT_TRUE(std::filesystem::exists(path + "/model.safetensors"));
  }
  EXPECT_EQ(read_checkpoint(folder / "run").files.at("place.txt"), "batch 2");
  std::size_t kept = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder / "run/checkpoints"))
    kept += each.is_directory();
  EXPECT_EQ(kept, 2U);
  Model other("net", small_network());
  other.load(folder / "run");
  EXPECT_EQ(other.sha256(), training.model.sha256());
  EXPECT_THROW(training.rest.save(folder / "run", {{"plan.txt", ""}}), UsageError);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(step_resume, refuses_another_training) {
  const TemporaryFolder folder;
  Training training;
  training.go(0, 2);
  training.rest.save(folder / "run");
  {
    Model model("net", small_network());
    Step alone(model, classifying(), sgd(0.05), {.name = "rest"});
    const std::string why = refusal([&] { alone.resume(folder / "run"); });
    EXPECT_NE(why.find("its steps are"), std::string::npos) << why;
  }
  {
    Model model("net", small_network());
    Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
    EXPECT_NE(refusal([&] { trainer.resume(folder / "run"); }), "");
    trainer.step(small_batch(0));
    trainer.save(folder / "other");
  }
  const std::string why = refusal([&] { training.rest.resume(folder / "other"); });
  EXPECT_NE(why.find("is of no training by steps"), std::string::npos) << why;
  EXPECT_THROW(training.rest.resume(folder / "none"), DataError);
  training.rest.backward(small_batch(0));
  EXPECT_THROW(training.convolutions.save(folder / "run"), UsageError);
  EXPECT_THROW(training.rest.resume(folder / "run"), UsageError);
}

}  // namespace
}  // namespace narrowgauge::step_resume_test
