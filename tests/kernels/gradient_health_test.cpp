// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/update/gradient_health.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/threads/parallel.h"
#include "kernels/each_isa.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::gradient_health_test {
namespace {

GradientHealth check(const std::vector<Tensor>& gradients, double multiplier) {
  std::vector<GradientBuffer> buffers;
  for (const Tensor& gradient : gradients) buffers.push_back({view(gradient), gradient.size()});
  auto space = workspace(gradient_health_workspace(buffers));
  return gradient_health(buffers, multiplier, space.data());
}

std::vector<Tensor> mixed_gradients() {
  std::vector<Tensor> gradients;
  unsigned seed = 0;
  for (const std::int64_t count : {0, 1, 7, 17, 1000, 16384, 40001, 0})
    for (const DType dtype : storage_dtypes)
      gradients.push_back(random_tensor(dtype, count, ++seed, 0, 100));
  return gradients;
}

TEST(gradient_health, sums_the_squares_of_all_buffers) {
  const std::vector<Tensor> gradients = mixed_gradients();
  double expected = 0;
  for (const Tensor& gradient : gradients)
    for (const double g : doubles(gradient)) expected += g * g / 64 / 64;
  const GradientHealth health = check(gradients, 1.0 / 64);
  EXPECT_TRUE(health.finite);
  EXPECT_EQ(health.first_not_finite, -1);
  EXPECT_NEAR(health.sum_of_squares, expected, 1e-12 * expected);
}

TEST(gradient_health, finds_one_bad_value_anywhere) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {inf, -inf, std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector<Tensor> good = mixed_gradients();
    for (std::size_t g = 0; g < good.size(); ++g) {
      if (good[g].size() == 0) continue;
      std::vector<Tensor> gradients = good;
      gradients[g] = gradients[g].clone();
      gradients[g].set(good[g].size() - 1, bad);
      const GradientHealth health = check(gradients, 1);
      EXPECT_FALSE(health.finite);
      EXPECT_EQ(health.first_not_finite, std::int64_t(g));
    }
  }
}

TEST(gradient_health, largest_and_smallest_values_are_finite_and_counted) {
  const double most = double(std::numeric_limits<float>::max());
  const GradientHealth large = check({Tensor::full(DType::f32, {1000}, most)}, 1);
  EXPECT_TRUE(large.finite);
  EXPECT_NEAR(large.sum_of_squares / (1000 * most * most), 1, 1e-12);
  const GradientHealth small = check({Tensor::full(DType::f32, {1000}, 1e-30)}, 1);
  EXPECT_NEAR(small.sum_of_squares / 1e-57, 1, 1e-6);
}

TEST(gradient_health, bits_do_not_depend_on_the_number_of_threads) {
  std::vector<double> sums;
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    sums.push_back(check(mixed_gradients(), 0.3).sum_of_squares);
  }
  EXPECT_EQ(sums[0], sums[1]);
}

// Sixteen sums, element i in that of i modulo 16, added halves apart.
double square_sum_in_order(const Tensor& gradient) {
  std::array<double, 16> sum{};
  const std::vector<double> values = doubles(gradient);
  for (std::size_t i = 0; i < values.size(); ++i)
    sum[i % 16] = std::fma(values[i], values[i], sum[i % 16]);
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) sum[l] += sum[l + half];
  return sum[0];
}

TEST(gradient_health, bits_do_not_depend_on_the_instructions) {
  for (const Tensor& gradient : mixed_gradients()) {
    if (gradient.size() > 16384) continue;
    EXPECT_EQ(check({gradient}, 1).sum_of_squares, square_sum_in_order(gradient))
        << gradient.size();
  }
}

TEST(gradient_health_each_isa, the_tests_pass) {
  expect_tests_pass_under_each_isa("gradient_health.*");
}

TEST(gradient_health, nothing_is_healthy) {
  const GradientHealth health = check({}, 1);
  EXPECT_TRUE(health.finite);
  EXPECT_EQ(health.sum_of_squares, 0);
}

}  // namespace
}  // namespace narrowgauge::cpu::gradient_health_test
