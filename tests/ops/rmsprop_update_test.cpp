// SPDX-License-Identifier: Apache-2.0
// RMSprop against PyTorch's definition, written again here in f64 for a whole run of steps.
#include "ops/training/rmsprop_update.h"

#include <gtest/gtest.h>

#include <cmath>

#include "narrowgauge/optimizer.h"
#include "ops/gradient_run.h"

namespace narrowgauge::rmsprop_update_test {
namespace {

constexpr std::int64_t count = 2500;  // of weights: more than two strips
constexpr double rate = 0.01, scale = 256;

Tensor number(double value) { return Tensor::scalar(DType::f32, value); }

Tensor gradient(int step, DType dtype) {
  Tensor tensor = pattern(DType::f64, {count}, static_cast<unsigned>(2 + step));
  for (std::int64_t i = 0; i < count; ++i) tensor.set(i, tensor.at(i) * 0.5 * scale);
  return tensor.cast(dtype);
}

// torch.optim.RMSprop, one weight.
struct Expected {
  double weight = 0, square_average = 0, gradient_average = 0, buffer = 0;

  void step(const RmspropUpdate& op, double gradient) {
    gradient += op.weight_decay * weight;
    square_average += (1 - op.alpha) * (gradient * gradient - square_average);
    double average = square_average;
    if (op.centered) {
      gradient_average += (1 - op.alpha) * (gradient - gradient_average);
      average -= gradient_average * gradient_average;
    }
    const double change = gradient / (std::sqrt(average) + op.epsilon);
    buffer = op.momentum * buffer + change;
    weight -= rate * (op.momentum > 0 ? buffer : change);
  }
};

// Weights, their narrow copy and moments, as steps leave them.
struct State {
  Tensor weight = pattern(DType::f32, {count}, 1), narrow;
  std::vector<std::optional<Tensor>> moments;

  explicit State(const RmspropUpdate& op) {
    for (const bool used : {true, op.centered, op.momentum > 0})
      moments.push_back(used ? std::optional(Tensor(DType::f32, {count})) : std::nullopt);
  }

  void step(const RmspropUpdate& op, const Tensor& gradient, bool applied, const char* kernel) {
    KernelRun how{.kernel = kernel};
    for (int i = 0; i < 3; ++i)
      if (!moments[static_cast<std::size_t>(i)]) how.unread.push_back(1 + i);
    const auto result =
        run_kernel(op,
                   {weight, gradient, moments[0], moments[1], moments[2], number(rate),
                    number(1 / scale), Tensor::scalar(DType::boolean, applied)},
                   how);
    weight = result.outputs[0];
    for (std::size_t i = 0; i < 3; ++i)
      if (moments[i]) moments[i] = result.outputs[1 + i];
    narrow = result.outputs[4];
  }
};

TEST(rmsprop_update, follows_its_definition) {
  for (const char* kernel : {"rows", "reference"})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const bool centered : {false, true})
        for (const double momentum : {0.0, 0.9}) {
          const RmspropUpdate op{.alpha = 0.9,
                                 .epsilon = 1e-6,
                                 .momentum = momentum,
                                 .centered = centered,
                                 .weight_decay = 0.02,
                                 .narrow = dtype};
          State state(op);
          std::vector<Expected> expected(count);
          for (std::size_t i = 0; i < expected.size(); ++i)
            expected[i].weight = state.weight.at(static_cast<std::int64_t>(i));
          for (int step = 0; step < 5; ++step) {
            const Tensor given = gradient(step, dtype);
            state.step(op, given, true, kernel);
            for (std::size_t i = 0; i < expected.size(); ++i)
              expected[i].step(op, given.at(static_cast<std::int64_t>(i)) / scale);
          }
          double worst = 0;
          for (std::size_t i = 0; i < expected.size(); ++i)
            worst = std::max(worst, std::abs(state.weight.at(static_cast<std::int64_t>(i)) -
                                             expected[i].weight));
          EXPECT_LT(worst, centered ? 2e-4 : 3e-6)
              << kernel << ' ' << name(dtype) << ' ' << centered << ' ' << momentum;
          EXPECT_TRUE(state.narrow.same_bits(state.weight.cast(dtype)));
        }
}

TEST(rmsprop_update, a_skipped_step_changes_no_bit) {
  const RmspropUpdate op{.momentum = 0.9, .centered = true, .narrow = DType::f16};
  for (const char* kernel : {"rows", "reference"}) {
    State state(op);
    state.step(op, gradient(0, DType::f32), true, kernel);
    const State before = state;
    state.step(op, Tensor::full(DType::f32, {count}, INFINITY), false, kernel);
    EXPECT_TRUE(state.weight.same_bits(before.weight));
    EXPECT_TRUE(state.narrow.same_bits(before.narrow));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(state.moments[i]->same_bits(*before.moments[i])) << i;
  }
}

TEST(rmsprop_update, the_fast_kernel_agrees_with_the_reference) {
  // Samples read all results, and a moment that the rule does not keep only the reference makes.
  EXPECT_EQ(expect_kernel_matches_reference<RmspropUpdate>(DType::f32, {.kernel = "rows"}), 2);
}

TEST(rmsprop_update, is_found_by_its_name_and_keeps_the_moments_that_it_needs) {
  Optimizer optimizer = parse_optimizer("rmsprop");
  EXPECT_EQ(optimizer.rule.moments(), (std::vector<std::string_view>{"square_average"}));
  optimizer.rule.set("momentum", 0.9);
  optimizer.rule.set("centered", true);
  EXPECT_EQ(optimizer.rule.moments(),
            (std::vector<std::string_view>{"square_average", "gradient_average", "velocity"}));
  EXPECT_NO_THROW(check(optimizer));
  optimizer.rule.set("alpha", 1.0);
  EXPECT_THROW(check(optimizer), UsageError);
}

}  // namespace
}  // namespace narrowgauge::rmsprop_update_test
