// SPDX-License-Identifier: Apache-2.0
// Skipped steps leave schedule, clipping and moments as they were: a training with some is, bit for
// bit, the training without them.
#include <gtest/gtest.h>

#include <limits>

#include "api/small_training.h"
#include "narrowgauge/step.h"

namespace narrowgauge::skipped_steps_test {
namespace {

constexpr std::uint64_t applied_steps = 12;

// Neither dropout, which counts skipped steps, nor running statistics, which overflows advance.
Value plain_network(Network& net) {
  const Value x = net.input("images", {net.batch(), 1, 12, 12});
  return net.linear(net.flatten(net.relu(net.conv(x, 4))), 4);
}

Loss plain_loss() { return softmax_cross_entropy(); }

// The schedule differs from step to step, and the norm is above the limit in each.
Optimizer changing_optimizer() {
  Optimizer optimizer = adam(1e-2);
  optimizer.clip_norm = 0.05;
  optimizer.schedule = {.name = "cosine", .warmup_steps = 3, .total_steps = applied_steps};
  return optimizer;
}

std::array<Tensor, 2> bad_batch(std::uint64_t number) {
  auto batch = small_batch(number);
  batch[0].values<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  return batch;
}

// What a training left, and what it did in each step that was applied.
struct Training {
  std::string sha256;
  std::vector<double> rates, norms;
  std::int64_t skipped = 0;

  bool take(const StepResult& result) {
    if (!result.applied()) return ++skipped, false;
    rates.push_back(result.learning_rate);
    norms.push_back(result.norm);
    return true;
  }
};

void expect_equal(const Training& with, const Training& without) {
  EXPECT_EQ(with.sha256, without.sha256);
  EXPECT_EQ(with.rates, without.rates);
  EXPECT_EQ(with.norms, without.norms);
  EXPECT_EQ(without.rates.size(), applied_steps);
  EXPECT_EQ(without.skipped, 0);
  for (const double norm : without.norms) EXPECT_GT(norm, changing_optimizer().clip_norm);
}

TEST(skipped_steps, batches_that_are_not_finite_change_nothing_else) {
  const auto train = [](bool spoiled) {
    Model model("plain", plain_network);
    Trainer trainer(model, plain_loss(), changing_optimizer(), {.deterministic = true});
    Training training;
    for (std::uint64_t i = 0; i < applied_steps; ++i) {
      if (spoiled && i % 3 == 1) training.take(trainer.step(bad_batch(i)));
      training.take(trainer.step(small_batch(i)));
    }
    training.sha256 = model.sha256();
    return training;
  };
  const Training with = train(true);
  EXPECT_EQ(with.skipped, 4);
  expect_equal(with, train(false));
}

TEST(skipped_steps, overflows_change_the_scale_alone) {
  double scale = 0x1p40;
  const auto train = [&scale] {
    Model model("plain", plain_network);
    Optimizer optimizer = changing_optimizer();
    enable_mixed_precision(optimizer, DType::f16);
    optimizer.loss_scale.initial = scale;
    optimizer.loss_scale.maximum = 0x1p60;
    Trainer trainer(model, plain_loss(), optimizer, {.deterministic = true});
    Training training;
    for (std::uint64_t i = 0; i < applied_steps; ++i) {
      StepResult result = trainer.step(small_batch(i));
      while (!training.take(result)) result = trainer.step(small_batch(i));
      scale = result.scale;
    }
    training.sha256 = model.sha256();
    return training;
  };
  const Training with = train();
  EXPECT_GT(with.skipped, 5);
  expect_equal(with, train());
}

TEST(skipped_steps, a_group_of_batches_is_skipped_as_one) {
  const auto train = [](bool spoiled) {
    Model model("plain", plain_network);
    const Objective objective = [](Network& net) { return plain_loss()(net, plain_network(net)); };
    Step step(model, objective, changing_optimizer(), {.deterministic = true});
    Training training;
    for (std::uint64_t i = 0; i < applied_steps; ++i) {
      if (spoiled && i % 3 == 1) {
        step.backward(small_batch(i), 0.5);
        step.backward(bad_batch(i), 0.5);
        training.take(step.update());
      }
      step.backward(small_batch(i), 0.5);
      step.backward(small_batch(i + 100), 0.5);
      training.take(step.update());
    }
    training.sha256 = model.sha256();
    return training;
  };
  const Training with = train(true);
  EXPECT_EQ(with.skipped, 4);
  expect_equal(with, train(false));
}

}  // namespace
}  // namespace narrowgauge::skipped_steps_test
