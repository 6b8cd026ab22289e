// SPDX-License-Identifier: Apache-2.0
// Batches whose parts are computed one after the other: the same training in less memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "api/small_training.h"
#include "io/files.h"

namespace narrowgauge::accumulation_test {
namespace {

using testing_files::TemporaryFolder;

// Without statistics of the batch and dropout, by which parts differ from the whole.
BuildNetwork plain_network() {
  return [](Network& net) {
    const Value x = net.input("images", {net.batch(), 1, 12, 12});
    return net.linear(net.flatten(net.relu(net.conv(x, 8))), 4);
  };
}

struct Training {
  Model model;
  Trainer trainer;
  Training(const BuildNetwork& build, const Optimizer& optimizer, std::int64_t parts)
      : model("small", build),
        trainer(model, softmax_cross_entropy(), optimizer,
                {.seed = 3, .deterministic = true, .accumulation = parts}) {}
  StepResult train(std::uint64_t from, std::uint64_t to) {
    StepResult last;
    for (std::uint64_t step = from; step < to; ++step) last = trainer.step(small_batch(step));
    return last;
  }
};

// A schedule that changes with each step, and a norm above the limit.
Optimizer changing(Optimizer optimizer) {
  optimizer.clip_norm = 0.5;
  optimizer.schedule = {.name = "cosine", .warmup_steps = 2, .total_steps = 8};
  optimizer.ema_decay = 0.9;
  return optimizer;
}

double farthest(const Model& one, const Model& other) {
  double distance = 0;
  for (const std::string& name : one.state_names()) {
    const Tensor a = one.state(name), b = other.state(name);
    for (std::int64_t i = 0; i < a.size(); ++i)
      distance = std::max(distance, std::abs(a.at(i) - b.at(i)) / std::max(1.0, std::abs(b.at(i))));
  }
  return distance;
}

TEST(accumulation, over_four_parts_equals_the_whole_batch) {
  for (const bool in_f64 : {false, true}) {
    Optimizer optimizer = changing(sgd(0.05));
    optimizer.precision.in_f64 = in_f64;
    Training whole(plain_network(), optimizer, 1), parts(plain_network(), optimizer, 4);
    for (std::uint64_t step = 0; step < 6; ++step) {
      const StepResult one = whole.train(step, step + 1), four = parts.train(step, step + 1);
      EXPECT_NEAR(four.loss, one.loss, 1e-6 * one.loss);
      EXPECT_NEAR(four.norm, one.norm, 1e-5 * one.norm);
      EXPECT_EQ(four.learning_rate, one.learning_rate);
    }
    const double tolerance = in_f64 ? 1e-13 : 1e-6;
    EXPECT_LT(farthest(parts.model, whole.model), tolerance);
    EXPECT_EQ(parts.trainer.applied_steps(), 6);
    whole.trainer.swap_averages();
    parts.trainer.swap_averages();
    EXPECT_LT(farthest(parts.model, whole.model), tolerance);
  }
}

TEST(accumulation, needs_less_memory_for_what_is_kept) {
  Training whole(small_network(), sgd(0.05), 1), parts(small_network(), sgd(0.05), 4);
  whole.train(0, 1);
  parts.train(0, 1);
  EXPECT_LT(parts.trainer.activation_bytes(), whole.trainer.activation_bytes() / 2);
}

TEST(accumulation, drops_other_elements_in_each_part) {
  // Both halves of the batch are the same, so that equal masks would make equal losses.
  const auto network = [](Network& net) {
    return net.linear(net.dropout(net.flatten(net.input("images", {net.batch(), 1, 12, 12})), 0.5),
                      4);
  };
  auto batch = small_batch(0, 32);
  const auto half = small_batch(0, 16);
  for (std::size_t i = 0; i < 2; ++i) {
    std::memcpy(batch[i].data(), half[i].data(), static_cast<std::size_t>(half[i].bytes()));
    std::memcpy(batch[i].data() + half[i].bytes(), half[i].data(),
                static_cast<std::size_t>(half[i].bytes()));
  }
  Training twice(network, sgd(0.05), 2), once(network, sgd(0.05), 1);
  const double first = once.trainer.step(half).loss;
  EXPECT_GT(std::abs(twice.trainer.step(batch).loss - first), 1e-3);
}

// A rate of 0 leaves the weights, so that each loss shows its own random numbers alone.
TEST(accumulation, draws_in_each_part_what_a_step_of_its_own_would) {
  const auto network = [](Network& net) {
    return net.linear(net.dropout(net.flatten(net.input("images", {net.batch(), 1, 12, 12})), 0.5),
                      4);
  };
  const auto half = small_batch(0, 16);
  auto batch = small_batch(0, 32);
  for (std::size_t i = 0; i < 2; ++i)
    for (const std::int64_t part : {0, 1})
      std::memcpy(batch[i].data() + part * half[i].bytes(), half[i].data(),
                  static_cast<std::size_t>(half[i].bytes()));
  Training parts(network, sgd(0), 2), steps(network, sgd(0), 1);
  for (int step = 0; step < 3; ++step) {
    const double first = steps.trainer.step(half).loss, second = steps.trainer.step(half).loss;
    EXPECT_NEAR(parts.trainer.step(batch).loss, (first + second) / 2, 1e-5) << step;
  }
}

TEST(accumulation, skips_the_whole_step_where_one_part_overflows) {
  Optimizer optimizer = changing(sgd(0.05));
  enable_mixed_precision(optimizer, DType::f16);
  Training run(plain_network(), optimizer, 4);
  run.train(0, 3);
  const std::string before = run.model.sha256();
  auto bad = small_batch(3);
  bad[0].values<float>()[9 * 144] = std::numeric_limits<float>::quiet_NaN();  // the second part
  const StepResult result = run.trainer.step(bad);
  EXPECT_EQ(result.outcome, StepOutcome::loss_not_finite);
  EXPECT_EQ(run.model.sha256(), before);
  EXPECT_EQ(run.trainer.applied_steps(), 3);
  EXPECT_EQ(run.trainer.skipped_steps(), 1);
  EXPECT_TRUE(run.train(4, 5).applied()) << "nothing of the bad step is left";
}

TEST(accumulation, names_the_first_value_that_is_not_finite_in_any_part) {
  auto bad = small_batch(0);
  bad[0].values<float>()[20 * 144] = std::numeric_limits<float>::infinity();
  Training run(plain_network(), sgd(0.05), 4);
  try {
    run.trainer.fit(std::make_shared<TensorSource>(std::vector<Tensor>{bad[0], bad[1]}), nullptr,
                    {.batch = 32, .most_skips = 1});
    FAIL() << "the loss is finite";
  } catch (const DivergedError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("first value that is not finite is 'images'"), std::string::npos)
        << message;
  }
}

TEST(accumulation, leaves_nothing_of_a_step_that_throws) {
  Training run(plain_network(), sgd(0.05), 2), clean(plain_network(), sgd(0.05), 2);
  auto batch = small_batch(0);
  batch[1] = Tensor(DType::i64, {16});
  EXPECT_THROW(run.trainer.step(batch), UsageError);
  auto labels = small_batch(0);
  labels[1].set(20, 99);  // no such class, in the second part
  EXPECT_ANY_THROW(run.trainer.step(labels));
  run.train(1, 3);
  clean.train(1, 3);
  EXPECT_EQ(run.model.sha256(), clean.model.sha256());
}

TEST(accumulation, resumes_exactly) {
  const TemporaryFolder folder;
  Optimizer optimizer = changing(adam(1e-2));
  enable_mixed_precision(optimizer, DType::f16);
  Training whole(small_network(), optimizer, 4), first(small_network(), optimizer, 4),
      second(small_network(), optimizer, 4);
  whole.train(0, 8);
  first.train(0, 5);
  first.trainer.save(folder / "run");
  second.trainer.resume(folder / "run");
  second.train(5, 8);
  EXPECT_EQ(second.model.sha256(), whole.model.sha256());
  Training other(small_network(), optimizer, 1);
  other.trainer.resume(folder / "run");
  EXPECT_EQ(other.model.sha256(), first.model.sha256());
  EXPECT_TRUE(other.train(5, 6).applied());
}

TEST(accumulation, shows_kernels_and_gradients_of_the_whole_step) {
  Training whole(plain_network(), sgd(0.05), 1), parts(plain_network(), sgd(0.05), 4);
  for (Training* run : {&whole, &parts}) {
    run->trainer.keep_gradients(true);
    run->trainer.enable_profile(true);
    run->train(0, 1);
  }
  const auto expected = whole.trainer.gradients(), found = parts.trainer.gradients();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t g = 0; g < found.size(); ++g)
    for (std::int64_t i = 0; i < found[g].tensor.size(); ++i)
      ASSERT_NEAR(found[g].tensor.at(i), expected[g].tensor.at(i), 1e-6) << found[g].name;
  const auto kernels = parts.trainer.kernels();
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
    EXPECT_TRUE(
        std::ranges::any_of(kernels, [&](const auto& each) { return each.phase == phase; }));
  for (const Trainer::KernelRun& run : parts.trainer.kernel_runs())
    EXPECT_LT(run.kernel, kernels.size());
}

TEST(accumulation, of_what_cannot_be_cut_is_refused) {
  EXPECT_THROW(Training(plain_network(), sgd(0.1), 0), UsageError);
  Training run(plain_network(), sgd(0.1), 3);
  EXPECT_THROW(run.train(0, 1), UsageError) << "32 samples";
  EXPECT_THROW(run.trainer.fit(small_source(64), nullptr, {.batch = 32}), UsageError);
  EXPECT_TRUE(run.trainer.step(small_batch(0, 33)).applied());
}

}  // namespace
}  // namespace narrowgauge::accumulation_test
