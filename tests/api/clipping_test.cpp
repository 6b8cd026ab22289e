// SPDX-License-Identifier: Apache-2.0
// Clipping by the norm of all gradients, seen from outside: how far one step moves the weights.
#include <gtest/gtest.h>

#include <cmath>

#include "api/small_training.h"

namespace narrowgauge {
namespace {

constexpr double rate = 0.5;

struct Move {
  double distance = 0;  // of all parameters, in learning rates
  StepResult step;
};

Move first_step(double clip_norm, std::optional<DType> narrow) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(rate, 0);
  optimizer.clip_norm = clip_norm;
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
    for (std::int64_t i = 0; i < now.size(); ++i) squares += std::pow(now.at(i) - old.at(i), 2);
  }
  move.distance = std::sqrt(squares) / rate;
  return move;
}

class Clipping : public testing::TestWithParam<std::optional<DType>> {};

TEST_P(Clipping, limits_the_norm_of_the_step) {
  const Move free = first_step(0, GetParam());
  ASSERT_TRUE(free.step.applied());
  EXPECT_NEAR(free.distance, free.step.norm, 1e-3 * free.step.norm);
  const double limit = free.step.norm / 3;
  EXPECT_NEAR(first_step(limit, GetParam()).distance, limit, 1e-3 * limit);
  EXPECT_NEAR(first_step(free.step.norm * 2, GetParam()).distance, free.distance,
              1e-5 * free.distance);
}

INSTANTIATE_TEST_SUITE_P(each, Clipping,
                         testing::Values(std::nullopt, std::optional(DType::f16),
                                         std::optional(DType::bf16)));

}  // namespace
}  // namespace narrowgauge
