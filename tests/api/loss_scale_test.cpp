// SPDX-License-Identifier: Apache-2.0
// Loss scaling from end to end: vanishing gradients, overflows, NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "api/small_training.h"
#include "ops/pointwise/arithmetic.h"

namespace narrowgauge::loss_scale_test {
namespace {

constexpr double faint = 1.0 / (1 << 22);

Loss weighted_loss(double factor) {
  return [factor](Network& network, Value logits) {
    const Value loss = softmax_cross_entropy()(network, logits);
    const Value weight = network.graph().constant(Tensor::scalar(DType::f32, factor));
    return network.apply(Mul{}, {loss, weight}, "weighted_loss");
  };
}

// Cross entropy times 2^-22: most gradients lie under f16's smallest number, 2^-24.
Loss faint_loss() { return weighted_loss(faint); }

struct FaintRun {
  double loss = 0;  // of the last steps, in units of the cross entropy
  FlushReport report;
};

FaintRun train_faintly(std::optional<DType> narrow, LossScale::Kind scale) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0.05 / faint);
  if (narrow) enable_mixed_precision(optimizer, *narrow);
  optimizer.loss_scale.kind = scale;
  Trainer trainer(model, faint_loss(), optimizer);
  FaintRun run;
  for (std::uint64_t step = 0; step < 120; ++step) {
    const StepResult result = trainer.step(small_batch(step));
    if (step >= 100) run.loss += result.loss / faint / 20;
  }
  run.report = trainer.flushed();
  return run;
}

TEST(loss_scale, without_it_faint_gradients_vanish_and_the_first_is_named) {
  const FaintRun f32 = train_faintly(std::nullopt, LossScale::Kind::off);
  const FaintRun off = train_faintly(DType::f16, LossScale::Kind::off);
  const FaintRun dynamic = train_faintly(DType::f16, LossScale::Kind::automatic);
  EXPECT_LT(f32.loss, 0.3);
  EXPECT_GT(off.loss, 2 * f32.loss + 0.3);
  // All of the first narrow gradient is lost; what follows from it is zero without being flushed.
  EXPECT_GT(off.report.first_flushed, off.report.first_elements * 9 / 10);
  EXPECT_NE(off.report.first.find("gradient"), std::string::npos) << off.report.first;
  EXPECT_NEAR(dynamic.loss, f32.loss, 0.1);
  EXPECT_LT(dynamic.report.flushed, dynamic.report.elements / 10);
}

TEST(loss_scale, overflows_skip_steps_and_leave_everything_else_alone) {
  Model model("small", small_network());
  Optimizer optimizer = adam(1e-3);
  enable_mixed_precision(optimizer, DType::f16);
  optimizer.loss_scale.growth_interval = 50;
  optimizer.loss_scale.initial = 1024;
  Trainer trainer(model, softmax_cross_entropy(), optimizer);
  double expected = 1024;
  int good = 0, skipped = 0;
  for (std::uint64_t step = 0; step < 1000; ++step) {
    auto batch = small_batch(step, 8);
    const bool inject = step % 97 == 96;
    if (inject) batch[0].values<float>()[5] = 60000;  // finite going in, too large for its gradient
    const StepResult result = trainer.step(batch);
    EXPECT_EQ(result.scale, expected) << step;
    if (result.applied()) {
      if (++good == 50) expected = std::min(expected * 2, 16777216.0), good = 0;
    } else {
      ++skipped;
      if (result.outcome == StepOutcome::gradient_overflow)
        expected = std::max(expected / 2, 1.0), good = 0;
    }
  }
  EXPECT_EQ(trainer.skipped_steps(), skipped);
  EXPECT_EQ(trainer.applied_steps(), 1000 - skipped);
  for (const std::string& state : model.state_names()) {
    const Tensor value = model.state(state);
    for (std::int64_t i = 0; i < value.size(); ++i)
      ASSERT_TRUE(std::isfinite(value.at(i))) << state;
  }
}

TEST(loss_scale, a_nan_made_in_the_forward_pass_does_not_touch_the_scale) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, DType::f16);
  Trainer trainer(model, softmax_cross_entropy(), optimizer);
  auto batch = small_batch(0);
  batch[0].values<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const Tensor before = model.state("conv.weight");
  EXPECT_EQ(trainer.step(batch).outcome, StepOutcome::loss_not_finite);
  EXPECT_TRUE(model.state("conv.weight").same_bits(before));
  EXPECT_EQ(trainer.step(small_batch(1)).scale, 65536);
}

TEST(loss_scale, bf16_needs_none) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, DType::bf16);
  Trainer trainer(model, softmax_cross_entropy(), optimizer);
  EXPECT_EQ(trainer.step(small_batch(0)).scale, 1);
}

// Without a largest scale it would grow to infinity, and the next step's gradients with it.
TEST(loss_scale, growth_ends_at_the_largest_number_whose_inverse_f32_has) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0);
  optimizer.loss_scale.kind = LossScale::Kind::dynamic;
  optimizer.loss_scale.growth_interval = 1;
  optimizer.loss_scale.initial = 0x1p124;
  optimizer.loss_scale.maximum = std::numeric_limits<double>::infinity();
  Trainer trainer(model, weighted_loss(0x1p-130), optimizer);
  for (const double expected : {0x1p124, 0x1p125, 0x1p126, 0x1p126, 0x1p126}) {
    const StepResult result = trainer.step(small_batch(0));
    EXPECT_EQ(result.scale, expected);
    EXPECT_TRUE(result.applied());
  }
}

TEST(loss_scale, a_finite_loss_is_finite_at_every_scale) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0, 0);
  optimizer.loss_scale = {.kind = LossScale::Kind::fixed, .initial = 1e-3};
  Trainer trainer(model, weighted_loss(1e36), optimizer);
  const StepResult result = trainer.step(small_batch(0));
  EXPECT_GT(result.loss, 3.5e35);
  EXPECT_NE(result.outcome, StepOutcome::loss_not_finite);
}

TEST(fit, a_loss_that_is_never_finite_ends_the_run) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(1e30));
  EXPECT_THROW(trainer.fit(small_source(320), nullptr, {.epochs = 3, .batch = 32}), DivergedError);
}

}  // namespace
}  // namespace narrowgauge::loss_scale_test
