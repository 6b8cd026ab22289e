// SPDX-License-Identifier: Apache-2.0
// Clipping by the norm of all gradients, or by value, seen from outside: how far one step moves the
// weights.
#include <gtest/gtest.h>

#include <cmath>

#include "api/small_training.h"
#include "narrowgauge/step.h"

namespace narrowgauge::clipping_test {
namespace {

constexpr double rate = 0.5;

struct Move {
  double distance = 0;  // of all parameters, in learning rates
  double farthest = 0;  // of one weight, in learning rates
  StepResult step;
};

struct Limits {
  double norm = 0, value = 0;
};

Move first_step(Limits limits, std::optional<DType> narrow) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(rate, 0);
  optimizer.clip_norm = limits.norm;
  optimizer.clip_value = limits.value;
  if (narrow) enable_mixed_precision(optimizer, *narrow);
  Trainer trainer(model, softmax_cross_entropy(), optimizer);
  std::vector<std::pair<std::string, Tensor>> before;
  for (const std::string& name : model.state_names())
    if (name.ends_with(".weight") || name.ends_with(".bias"))
      before.emplace_back(name, model.state(name));
  Move move;
  do  // f16 may lower its loss scale first
    move.step = trainer.step(small_batch(0));
  while (move.step.outcome == StepOutcome::gradient_overflow);
  double squares = 0;
  for (const auto& [name, old] : before) {
    const Tensor now = model.state(name);
    for (std::int64_t i = 0; i < now.size(); ++i) {
      const double moved = std::abs(now.at(i) - old.at(i));
      squares += moved * moved;
      move.farthest = std::max(move.farthest, moved / rate);
    }
  }
  move.distance = std::sqrt(squares) / rate;
  return move;
}

class Clipping : public testing::TestWithParam<std::optional<DType>> {};

TEST_P(Clipping, limits_the_norm_of_the_step) {
  const Move free = first_step({}, GetParam());
  ASSERT_TRUE(free.step.applied());
  EXPECT_NEAR(free.distance, free.step.norm, 1e-3 * free.step.norm);
  const double limit = free.step.norm / 3;
  EXPECT_NEAR(first_step({.norm = limit}, GetParam()).distance, limit, 1e-3 * limit);
  EXPECT_NEAR(first_step({.norm = free.step.norm * 2}, GetParam()).distance, free.distance,
              1e-5 * free.distance);
}

TEST_P(Clipping, limits_each_element) {
  const Move free = first_step({}, GetParam());
  const double limit = free.farthest / 3;
  const Move clipped = first_step({.value = limit}, GetParam());
  EXPECT_NEAR(clipped.farthest, limit, 1e-3 * limit);
  EXPECT_LT(clipped.distance, free.distance);
  EXPECT_EQ(clipped.step.norm, free.step.norm) << "the norm is that before clipping";
  EXPECT_NEAR(first_step({.value = free.farthest * 2}, GetParam()).distance, free.distance,
              1e-5 * free.distance);
}

TEST(clipping, by_norm_and_by_value_exclude_each_other) {
  Optimizer optimizer = sgd(rate, 0);
  optimizer.clip_norm = optimizer.clip_value = 1;
  EXPECT_THROW(check(optimizer), UsageError);
}

// The gradients of w are x, those of PyTorch's clip_grad_value_ and clip_grad_norm_ are known.
TEST(clipping, of_known_gradients_is_that_of_pytorch) {
  const auto moved = [](const Optimizer& optimizer) {
    const auto product = [](Network& net) {
      const Value w = net.parameter("w", {3}, Initial::constant(0));
      return net.op("ReduceSum", {net.op("Mul", {net.input("x", {3}), w})}, "keepdims=0");
    };
    Model model("product", product);
    Step step(model, product, optimizer);
    const Tensor x = Tensor::from<float>({3}, std::vector<float>{-6, 0.25, 2});
    step.backward(std::span(&x, 1));
    step.update();
    return model.state("w");
  };
  Optimizer optimizer = sgd(1, 0);
  optimizer.loss_scale = parse_loss_scale("1024");
  optimizer.clip_value = 0.5;
  const Tensor by_value = moved(optimizer);
  EXPECT_EQ(by_value.at(0), 0.5);
  EXPECT_EQ(by_value.at(1), -0.25);
  EXPECT_EQ(by_value.at(2), -0.5);
  optimizer.clip_value = 0;
  optimizer.clip_norm = 1;
  const double share = 1 / (std::sqrt(36 + 0.0625 + 4) + 1e-6);
  EXPECT_FLOAT_EQ(static_cast<float>(moved(optimizer).at(0)), static_cast<float>(6 * share));
}

INSTANTIATE_TEST_SUITE_P(each, Clipping,
                         testing::Values(std::nullopt, std::optional(DType::f16),
                                         std::optional(DType::bf16)));

}  // namespace
}  // namespace narrowgauge::clipping_test
