// SPDX-License-Identifier: Apache-2.0
// GroupNormalization and InstanceNormalization against the formula in f64, in every layout.
#include "ops/normalization/group_normalization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/threads/parallel.h"
#include "ops/gradient_run.h"

namespace narrowgauge::group_normalization_test {
namespace {

TEST(group_normalization, the_kernel_agrees_with_the_reference_in_every_dtype_and_layout) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const bool channels_last : {false, true})
      for (const std::int64_t wider : {0, 3}) {
        const KernelRun how{.kernel = "channels", .channels_last = channels_last, .wider = wider};
        EXPECT_EQ(expect_kernel_matches_reference<GroupNormalization>(dtype, how),
                  std::ssize(samples_of<GroupNormalization>()));
        EXPECT_EQ(expect_kernel_matches_reference<InstanceNormalization>(dtype, how),
                  std::ssize(samples_of<InstanceNormalization>()));
      }
}

TEST(group_normalization, primitives_agree_with_the_op) {
  expect_decomposition_matches_reference<GroupNormalization>();
  expect_decomposition_matches_reference<InstanceNormalization>();
}

// y of each group by the definition, row-major.
std::vector<double> expected(const Tensor& x, const Tensor& scale, const Tensor& bias,
                             std::int64_t groups, double epsilon) {
  const Dims& dims = x.dims();
  const std::int64_t inner = x.size() / (dims[0] * dims[1]), count = x.size() / dims[0] / groups;
  std::vector<double> y;
  for (std::int64_t first = 0; first < x.size(); first += count) {
    double sum = 0, squares = 0;
    for (std::int64_t i = first; i < first + count; ++i) sum += x.at(i);
    const double mean = sum / static_cast<double>(count);
    for (std::int64_t i = first; i < first + count; ++i)
      squares += (x.at(i) - mean) * (x.at(i) - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(count) + epsilon);
    for (std::int64_t i = first; i < first + count; ++i) {
      const std::int64_t c = i / inner % dims[1];
      y.push_back((x.at(i) - mean) / deviation * scale.at(c) + bias.at(c));
    }
  }
  return y;
}

// Images that all threads share, images of one thread each, more channels than a strip has.
const Dims shapes[] = {
    {1, 64, 80, 81}, {5, 24, 9, 11}, {2, 1536, 3, 3}, {3, 8, 1}, {1, 32, 2, 3, 4}};

TEST(group_normalization, large_and_small_images_have_the_moments_of_their_groups) {
  for (const Dims& dims : shapes)
    for (const bool channels_last : {false, true}) {
      const Tensor x = pattern(DType::f32, dims, 3);
      const Tensor scale = pattern(DType::f32, {dims[1]}, 4),
                   bias = pattern(DType::f32, {dims[1]}, 5);
      for (const std::int64_t groups : {std::int64_t{1}, std::int64_t{4}, dims[1]}) {
        const KernelResult got =
            run_kernel(GroupNormalization{.epsilon = 1e-3, .num_groups = groups}, {x, scale, bias},
                       {.kernel = "channels", .channels_last = channels_last});
        expect_near(got.outputs[0], expected(x, scale, bias, groups, 1e-3), 2e-6,
                    concat(dims, " in ", groups));
      }
    }
}

// Squares of the values would leave no digit of their spread.
TEST(group_normalization, a_mean_far_above_the_spread_costs_no_accuracy) {
  Tensor x = pattern(DType::f32, {2, 8, 40, 40}, 1);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, 4096 + x.at(i));
  const Tensor scale = pattern(DType::f32, {8}, 4), bias = pattern(DType::f32, {8}, 5);
  for (const bool channels_last : {false, true}) {
    const KernelResult got = run_kernel(InstanceNormalization{}, {x, scale, bias},
                                        {.kernel = "channels", .channels_last = channels_last});
    expect_near(got.outputs[0], expected(x, scale, bias, 8, 1e-5), 1e-5);
  }
}

TEST(group_normalization, bits_do_not_depend_on_the_number_of_threads) {
  for (const Dims& dims : shapes) {
    const auto bits_with = [&](int threads) {
      const ThreadScope scope(threads);
      return run_kernel(GroupNormalization{.num_groups = 4},
                        {pattern(DType::f32, dims, 3), pattern(DType::f32, {dims[1]}, 4),
                         pattern(DType::f32, {dims[1]}, 5)},
                        {.kernel = "channels", .channels_last = true});
    };
    EXPECT_TRUE(bits_with(1).outputs[0].same_bits(bits_with(3).outputs[0])) << concat(dims);
  }
}

TEST(group_normalization, a_value_that_is_not_finite_reaches_its_group_and_no_other) {
  Tensor x = pattern(DType::f32, {2, 8, 6, 5}, 2);
  x.set(0, std::numeric_limits<double>::infinity());
  const Tensor ones = pattern(DType::f32, {8}, 4);
  const KernelResult got = run_kernel(GroupNormalization{.num_groups = 4}, {x, ones, ones},
                                      {.kernel = "channels", .channels_last = true});
  for (std::int64_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(std::isnan(got.outputs[0].at(i)), i < 60) << i;
}

}  // namespace
}  // namespace narrowgauge::group_normalization_test
