// SPDX-License-Identifier: Apache-2.0
// Updates of weights that are kept in f16 and bf16: what rounding loses, and what it must not lose.
#include <cmath>

#include "kernels/cpu/update/optimizer.h"
#include "kernels/cpu/update/stochastic_rounding.h"
#include "kernels/values_for_tests.h"
#include "tensor/values.h"

namespace narrowgauge::cpu::weight_rounding_test {
namespace {

constexpr DType narrow_dtypes[] = {DType::f16, DType::bf16};

enum class Way { nearest, stochastic, kahan };

double unit_of(DType dtype) { return dtype == DType::f16 ? 0x1p-10 : 0x1p-7; }

// Weights of which each step takes rate * gradient.
struct Weights {
  Tensor weight, compensation, gradient;
  std::vector<double> exact;

  Weights(DType dtype, std::int64_t count)
      : weight(random_tensor(DType::f32, count, 3).cast(dtype)),
        compensation(dtype, {count}),
        gradient(random_tensor(DType::f32, count, 4)),
        exact(doubles(weight)) {}

  void step(Way way, float rate, std::uint64_t number, bool applied = true) {
    SgdUpdate update;
    UpdateCommon& common = update.common;
    common.count = weight.size();
    common.weight = common.next_weight = view(weight);
    common.gradient = view(std::as_const(gradient));
    common.learning_rate = rate;
    common.applied = applied;
    if (way == Way::kahan) common.compensation = common.next_compensation = view(compensation);
    if (way == Way::stochastic) common.random = RandomStream(1, "w", number);
    sgd_update(update);
    for (std::size_t i = 0; applied && i < exact.size(); ++i)
      exact[i] -= double(rate) * gradient.at(std::int64_t(i));
  }

  // How far the weights are from the exact ones, in units in the last place of 1, on average and at
  // worst.
  std::pair<double, double> error() const {
    double sum = 0, worst = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double off = std::abs(weight.at(std::int64_t(i)) - exact[i]) / unit_of(weight.dtype()) /
                         std::max(1.0, std::abs(exact[i]));
      sum += off;
      worst = std::max(worst, off);
    }
    return {sum / double(exact.size()), worst};
  }
};

TEST(weight_rounding, stochastic_is_that_of_single_numbers) {
  const std::int64_t count = strip_length;
  Tensor values = random_tensor(DType::f32, 2 * count, 1, 0, 3);
  const float special[] = {0.0F,     -0.0F,   INFINITY, -INFINITY, NAN,    65519.0F, 1e-8F,
                           -3.4e38F, 3.4e38F, 1e-40F,   6e-8F,     1e-30F, 65504.0F};
  std::copy(std::begin(special), std::end(special), values.values<float>().begin());
  const RandomStream stream(5, "weight", 7);
  for (const DType dtype : narrow_dtypes) {
    Tensor rounded(dtype, {2 * count});
    for (const std::int64_t from : {std::int64_t{0}, count})
      store_stochastically(view(rounded), from, count, floats(values) + from, stream);
    for (std::int64_t i = 0; i < 2 * count; ++i) {
      const float value = values.values<float>()[std::size_t(i)];
      const std::uint32_t random = stream.bits(std::uint64_t(i));
      const std::uint16_t expected = dtype == DType::f16
                                         ? narrow_stochastic<f16>(value, random).bits
                                         : narrow_stochastic<bf16>(value, random).bits;
      const auto* const bits = reinterpret_cast<const std::uint16_t*>(rounded.data());
      ASSERT_EQ(bits[i], expected) << name(dtype) << ' ' << value;
    }
  }
}

// The mean of n draws of a rounding to steps of u deviates by less than u / (2 sqrt(n)) a standard
// deviation; five of these are exceeded once in two million times.
TEST(weight_rounding, stochastic_is_right_on_average) {
  constexpr int draws = 4000;
  for (const DType dtype : narrow_dtypes)
    for (const float value : {1.0003F, -1.61803F, 0.7500019F}) {
      double sum = 0;
      for (std::uint64_t step = 0; step < draws; ++step) {
        Tensor rounded(dtype, {1});
        store_stochastically(view(rounded), 0, 1, &value, RandomStream(1, "w", step));
        sum += rounded.at(0);
      }
      const double deviation = unit_of(dtype) / 2 / std::sqrt(double(draws));
      EXPECT_NEAR(sum / draws, double(value), 5 * deviation) << name(dtype);
    }
}

TEST(weight_rounding, many_small_steps_are_lost_to_nearest_alone) {
  constexpr int steps = 2000;
  for (const DType dtype : narrow_dtypes) {
    // Each step is a fiftieth of a unit in the last place, so that all make forty units.
    const auto rate = static_cast<float>(unit_of(dtype) / 50);
    Weights nearest(dtype, 3000), stochastic(dtype, 3000), kahan(dtype, 3000);
    for (std::uint64_t step = 0; step < steps; ++step) {
      nearest.step(Way::nearest, rate, step);
      stochastic.step(Way::stochastic, rate, step);
      kahan.step(Way::kahan, rate, step);
    }
    EXPECT_GT(nearest.error().first, 10) << name(dtype);
    // A walk of 2000 steps, each up or down a unit with a chance of a fiftieth and less.
    EXPECT_LT(stochastic.error().first, 8) << name(dtype);
    // Half a unit for the weight, and half a unit of the rest, which is below half a unit, a step.
    EXPECT_LE(kahan.error().second, 0.5 + steps * unit_of(dtype) / 8 + 0.01) << name(dtype);
    EXPECT_LT(kahan.error().first, 0.6) << name(dtype);
  }
}

TEST(weight_rounding, kahans_sum_of_weight_and_rest_is_exact_to_the_unit_squared) {
  for (const DType dtype : narrow_dtypes) {
    Weights weights(dtype, 1000);
    constexpr int steps = 500;
    for (std::uint64_t step = 0; step < steps; ++step) weights.step(Way::kahan, 1e-3F, step);
    for (std::int64_t i = 0; i < 1000; ++i) {
      const double sum = weights.weight.at(i) + weights.compensation.at(i);
      const double exact = weights.exact[std::size_t(i)];
      // Each step rounds the rest, which is at most half a unit of the weight.
      const double bound =
          steps * unit_of(dtype) * unit_of(dtype) * std::max(1.0, 2 * std::abs(exact));
      ASSERT_NEAR(sum, exact, bound / 4) << name(dtype) << ' ' << i;
    }
  }
}

TEST(weight_rounding, a_skipped_step_changes_no_bit) {
  for (const DType dtype : narrow_dtypes)
    for (const Way way : {Way::nearest, Way::stochastic, Way::kahan}) {
      Weights weights(dtype, 3000);
      // A rest of half a unit, with which rounding again would move every second weight.
      for (std::int64_t i = 0; i < 3000; ++i) {
        weights.weight.set(i, 1 + double(i % 64) * unit_of(dtype));
        weights.compensation.set(i, unit_of(dtype) / 2);
      }
      const Tensor before = weights.weight.clone(), rest = weights.compensation.clone();
      weights.step(way, 1, 0, false);
      EXPECT_TRUE(weights.weight.same_bits(before)) << name(dtype);
      EXPECT_TRUE(weights.compensation.same_bits(rest)) << name(dtype);
    }
}

TEST(weight_rounding, does_not_depend_on_threads) {
  for (const Way way : {Way::nearest, Way::stochastic, Way::kahan}) {
    std::vector<Tensor> results;
    for (const int threads : {1, 2, 5}) {
      const ThreadScope scope(threads);
      Weights weights(DType::bf16, 100'000);
      for (std::uint64_t step = 0; step < 3; ++step) weights.step(way, 1e-3F, step);
      results.push_back(weights.weight);
    }
    EXPECT_TRUE(results[0].same_bits(results[1]));
    EXPECT_TRUE(results[0].same_bits(results[2]));
  }
}

TEST(weight_rounding, adam_goes_on_from_weight_and_rest) {
  Tensor weight = random_tensor(DType::f32, 500, 1).cast(DType::bf16);
  Tensor rest(DType::bf16, {500}), wide = weight.cast(DType::f32);
  Tensor moments[4] = {Tensor(DType::f32, {500}), Tensor(DType::f32, {500}),
                       Tensor(DType::f32, {500}), Tensor(DType::f32, {500})};
  for (unsigned step = 1; step <= 20; ++step) {
    const Tensor gradient = random_tensor(DType::bf16, 500, 50 + step);
    AdamUpdate narrow;
    narrow.common.count = 500;
    narrow.common.gradient = view(gradient);
    narrow.common.learning_rate = 1e-4F;
    narrow.step = step;
    AdamUpdate master = narrow;
    narrow.common.weight = narrow.common.next_weight = view(weight);
    narrow.common.compensation = narrow.common.next_compensation = view(rest);
    narrow.first_moment = {floats(moments[0]), floats(moments[0])};
    narrow.second_moment = {floats(moments[1]), floats(moments[1])};
    master.common.weight = master.common.next_weight = view(wide);
    master.first_moment = {floats(moments[2]), floats(moments[2])};
    master.second_moment = {floats(moments[3]), floats(moments[3])};
    adam_update(narrow);
    adam_update(master);
  }
  for (std::int64_t i = 0; i < 500; ++i) {
    const double sum = weight.at(i) + rest.at(i);
    ASSERT_NEAR(sum, wide.at(i), 20 * 0x1p-16 * std::max(1.0, std::abs(wide.at(i)))) << i;
  }
  EXPECT_TRUE(moments[0].same_bits(moments[2]));
}

}  // namespace
}  // namespace narrowgauge::cpu::weight_rounding_test
