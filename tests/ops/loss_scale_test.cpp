// SPDX-License-Identifier: Apache-2.0
// The health of gradients, the loss scale's schedule step by step, clipping and learning rates.
#include "ops/training/loss_scale.h"

#include <gtest/gtest.h>

#include "ops/gradient_run.h"
#include "ops/training/schedules/learning_rate.h"

namespace narrowgauge::loss_scale_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor number(double value) { return Tensor::scalar(DType::f32, value); }

// The state of a loss scale, moved on step by step by the op.
struct Scaler {
  LossScaleUpdate op;
  double scale = 65536;
  std::int64_t good = 0, applied = 0, skipped = 0;
  std::int64_t overflows_left = 1;

  StepOutcome step(bool finite, bool loss_finite = true) {
    const auto count = [](std::int64_t n) { return Tensor::scalar(DType::i64, double(n)); };
    const auto flag = [](bool value) { return Tensor::scalar(DType::boolean, value); };
    std::vector<std::optional<Tensor>> inputs{number(scale),  count(good),  count(applied),
                                              count(skipped), flag(finite), flag(loss_finite)};
    if (op.hysteresis > 1) inputs.emplace_back(count(overflows_left));
    const auto out = run_kernel(op, inputs).outputs;
    scale = out[0].at(0);
    good = static_cast<std::int64_t>(out[1].at(0));
    applied = static_cast<std::int64_t>(out[2].at(0));
    skipped = static_cast<std::int64_t>(out[3].at(0));
    if (op.hysteresis > 1) overflows_left = static_cast<std::int64_t>(out[6].at(0));
    const auto outcome = static_cast<StepOutcome>(static_cast<std::int64_t>(out[5].at(0)));
    EXPECT_EQ(out[4].at(0) != 0, outcome == StepOutcome::applied);
    return outcome;
  }
};

TEST(loss_scale, doubles_at_the_2000th_good_step_and_not_before) {
  Scaler scaler;
  for (int i = 0; i < 1999; ++i) scaler.step(true);
  EXPECT_EQ(scaler.scale, 65536);
  EXPECT_EQ(scaler.good, 1999);
  EXPECT_EQ(scaler.step(true), StepOutcome::applied);
  EXPECT_EQ(scaler.scale, 131072);
  EXPECT_EQ(scaler.good, 0);
  EXPECT_EQ(scaler.applied, 2000);
}

TEST(loss_scale, an_overflow_halves_it_and_starts_the_count_again) {
  Scaler scaler{.op = {.growth_interval = 3}};
  scaler.step(true);
  scaler.step(true);
  EXPECT_EQ(scaler.step(false), StepOutcome::gradient_overflow);
  EXPECT_EQ(scaler.scale, 32768);
  EXPECT_EQ(scaler.good, 0);
  EXPECT_EQ(scaler.applied, 2);
  EXPECT_EQ(scaler.skipped, 1);
  for (int i = 0; i < 3; ++i) scaler.step(true);
  EXPECT_EQ(scaler.scale, 65536);
}

TEST(loss_scale, keeps_between_floor_and_ceiling) {
  Scaler scaler{.op = {.growth_interval = 1, .maximum = 262144}};
  for (int i = 0; i < 5; ++i) scaler.step(true);
  EXPECT_EQ(scaler.scale, 262144);
  for (int i = 0; i < 18; ++i) EXPECT_EQ(scaler.step(false), StepOutcome::gradient_overflow);
  EXPECT_EQ(scaler.scale, 1);
  EXPECT_EQ(scaler.step(false), StepOutcome::gradient_not_finite);
  EXPECT_EQ(scaler.scale, 1);
}

TEST(loss_scale, a_loss_that_is_not_finite_leaves_it_alone) {
  Scaler scaler{.op = {.growth_interval = 2}};
  scaler.step(true);
  for (const bool finite : {false, true})
    EXPECT_EQ(scaler.step(finite, false), StepOutcome::loss_not_finite);
  EXPECT_EQ(scaler.scale, 65536);
  EXPECT_EQ(scaler.good, 1);
  EXPECT_EQ(scaler.skipped, 2);
}

// Megatron-LM's DynamicGradScaler (megatron/core/optimizer/grad_scaler.py).
TEST(loss_scale, goes_down_only_when_hysteresis_is_used_up) {
  Scaler scaler{.op = {.growth_interval = 2, .hysteresis = 3}, .scale = 1024, .overflows_left = 3};
  const auto scales = [&](std::vector<bool> finite) {
    std::vector<double> all;
    for (const bool each : finite) {
      scaler.step(each);
      all.push_back(scaler.scale);
    }
    return all;
  };
  using Scales = std::vector<double>;
  // A good step between overflows gives nothing back; each overflow after the third counts.
  EXPECT_EQ(scales({false, true, false, false, false}), (Scales{1024, 1024, 1024, 512, 256}));
  EXPECT_EQ(scaler.overflows_left, 0);
  // Growth gives all of it back.
  EXPECT_EQ(scales({true, true, false, false, false}), (Scales{256, 512, 512, 512, 256}));
  EXPECT_EQ(scaler.overflows_left, 0);
}

TEST(loss_scale, at_its_maximum_gives_overflows_back_too) {
  Scaler scaler{.op = {.growth_interval = 1, .maximum = 1024, .hysteresis = 2},
                .scale = 1024,
                .overflows_left = 1};
  scaler.step(true);
  EXPECT_EQ(scaler.scale, 1024);
  EXPECT_EQ(scaler.overflows_left, 2);
}

TEST(loss_scale, counts_a_loss_that_is_not_finite_if_asked) {
  Scaler scaler{.op = {.growth_interval = 2, .counts_loss = true}};
  scaler.step(true);
  for (const bool finite : {false, true})
    EXPECT_EQ(scaler.step(finite, false), StepOutcome::loss_not_finite);
  EXPECT_EQ(scaler.scale, 65536 / 4);
  EXPECT_EQ(scaler.good, 0);
  EXPECT_EQ(scaler.skipped, 2);
}

TEST(loss_scale, a_fixed_scale_stays_and_still_skips) {
  Scaler scaler{.op = {.dynamic = false, .growth_interval = 1}, .scale = 128};
  EXPECT_EQ(scaler.step(true), StepOutcome::applied);
  EXPECT_EQ(scaler.step(false), StepOutcome::gradient_overflow);
  EXPECT_EQ(scaler.scale, 128);
  EXPECT_EQ(scaler.skipped, 1);
}

TEST(loss_scale, a_scale_above_the_ceiling_is_not_lowered_by_growth) {
  Scaler scaler{.op = {.growth_interval = 1}, .scale = 0x1p30};
  scaler.step(true);
  EXPECT_EQ(scaler.scale, 0x1p30);
}

TEST(gradient_health, the_norm_is_that_of_unscaled_gradients) {
  // torch: 3.8659167735480287 for patterns 1 and 2 of 5 and 7 values.
  for (const char* kernel : {"rows", "reference"})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      std::vector<std::optional<Tensor>> inputs(3);
      inputs[0] = number(1024);
      for (std::size_t i : {1, 2}) {
        Tensor g = pattern(DType::f64, {i == 1 ? 5 : 7}, static_cast<std::int64_t>(i));
        for (std::int64_t e = 0; e < g.size(); ++e) g.set(e, g.at(e) * 1024);
        inputs[i] = g.cast(dtype);
      }
      const auto out = run_kernel(GradientHealth{}, inputs, {.kernel = kernel}).outputs;
      EXPECT_EQ(out[0].at(0), 1);
      EXPECT_NEAR(out[1].at(0), 3.8659167735480287, 1e-6);
      EXPECT_EQ(out[2].at(0), -1);
    }
}

TEST(gradient_health, one_infinity_or_nan_anywhere_is_found_and_named) {
  for (const char* kernel : {"rows", "reference"})
    for (const double bad : {infinity, -infinity, std::nan("")})
      for (const std::int64_t place : {0, 12345, 99999}) {
        std::vector<std::optional<Tensor>> inputs(4);
        inputs[0] = number(1);
        inputs[1] = pattern(DType::f32, {3});
        inputs[2] = pattern(DType::f16, {100000});
        inputs[3] = pattern(DType::f32, {5});
        inputs[2]->set(place, bad);
        const auto out = run_kernel(GradientHealth{}, inputs, {.kernel = kernel}).outputs;
        EXPECT_EQ(out[0].at(0), 0);
        EXPECT_FALSE(std::isfinite(out[1].at(0)));
        EXPECT_EQ(out[2].at(0), 1);
      }
}

TEST(gradient_health, squares_beyond_f32_are_no_overflow) {
  const Tensor large = Tensor::full(DType::f32, {4}, 1e30);
  const auto out = run_kernel(GradientHealth{}, {number(1e20), large}, {.kernel = "rows"}).outputs;
  EXPECT_EQ(out[0].at(0), 1);
  EXPECT_NEAR(out[1].at(0), 2e10, 1e4);
}

TEST(gradient_health, a_norm_beyond_f32_is_an_overflow) {
  for (const char* kernel : {"rows", "reference"}) {
    const auto health = [&](double value) {
      const Tensor gradient = Tensor::full(DType::f32, {16}, value);
      return run_kernel(GradientHealth{}, {number(1), gradient}, {.kernel = kernel}).outputs;
    };
    EXPECT_EQ(health(8e37)[0].at(0), 1);
    const auto beyond = health(1e38);
    EXPECT_EQ(beyond[0].at(0), 0);
    EXPECT_EQ(beyond[1].at(0), infinity);
    EXPECT_EQ(beyond[2].at(0), -1);
  }
}

// The numbers are as for a loss of 1e36, which the scale of 1e-3 would take beyond f32.
TEST(gradient_health, without_a_bound_only_values_are_judged) {
  for (const char* kernel : {"rows", "reference"}) {
    const auto health = [&](double value) {
      return run_kernel(GradientHealth{.bounds_norm = false}, {number(1e-3), number(value)},
                        {.kernel = kernel})
          .outputs[0]
          .at(0);
    };
    EXPECT_EQ(health(1e36), 1);
    EXPECT_EQ(health(infinity), 0);
    EXPECT_EQ(health(std::nan("")), 0);
  }
}

TEST(clip_multiplier, unscales_and_limits_the_norm) {
  const auto multiplier = [](double limit, double norm, double scale) {
    return run_kernel(ClipMultiplier{limit}, {number(norm), number(scale)}).outputs[0].at(0);
  };
  EXPECT_EQ(multiplier(0, 1000, 4), 0.25);
  EXPECT_EQ(multiplier(2, 1, 4), 0.25);
  EXPECT_EQ(multiplier(2, 8, 4), static_cast<float>(2 / 8.000001 / 4));
}

TEST(learning_rate, warms_up_then_follows_its_schedule) {
  LearningRate constant, steps, cosine;
  for (LearningRate* op : {&constant, &steps, &cosine}) {
    op->base = 0.8;
    op->warmup_steps = 4;
  }
  steps.schedule = "step";
  steps.step_every = 10;
  steps.step_factor = 0.5;
  steps.minimum = 0.15;
  cosine.schedule = "cosine";
  cosine.total_steps = 104;
  cosine.minimum = 0.2;
  const auto rate = [](const LearningRate& op, std::int64_t applied) {
    return run_kernel(op, {Tensor::scalar(DType::i64, double(applied))}).outputs[0].at(0);
  };
  for (const LearningRate& op : {constant, steps, cosine}) {
    EXPECT_NEAR(rate(op, 0), 0.2, 1e-7);
    EXPECT_NEAR(rate(op, 3), 0.8, 1e-7);
    EXPECT_NEAR(rate(op, 4), 0.8, 1e-7);
  }
  EXPECT_NEAR(rate(constant, 1000000), 0.8, 1e-7);
  EXPECT_NEAR(rate(steps, 13), 0.8, 1e-7);
  EXPECT_NEAR(rate(steps, 14), 0.4, 1e-7);
  EXPECT_NEAR(rate(steps, 24), 0.2, 1e-7);
  EXPECT_NEAR(rate(steps, 34), 0.15, 1e-7);
  EXPECT_NEAR(rate(cosine, 54), 0.5, 1e-7);
  EXPECT_NEAR(rate(cosine, 104), 0.2, 1e-7);
  EXPECT_NEAR(rate(cosine, 5000), 0.2, 1e-7);
}

TEST(learning_rate, an_unknown_or_unfinished_schedule_is_refused) {
  Graph graph;
  const Value steps = graph.input("steps", TensorType::parse("i64[]"));
  LearningRate op;
  for (const char* schedule : {"sine", "linear", "step", "cosine"}) {
    op.schedule = schedule;
    EXPECT_THROW(graph.add(op, {steps}), UsageError) << schedule;
  }
}

}  // namespace
}  // namespace narrowgauge::loss_scale_test
