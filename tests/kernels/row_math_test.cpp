// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/lanes/row_math.h"

#include <cstring>
#include <limits>

#include "base/machine/cpu.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::row_math_test {
namespace {

constexpr std::int64_t counts[] = {1, 7, 8, 15, 16, 17, 512};

std::vector<const RowMath*> versions() {
  std::vector<const RowMath*> all{&baseline_row_math};
  if (detected_isa() >= Isa::avx512) all.push_back(&avx512::row_math);
  return all;
}

double ulps(float got, double expected) {
  const double unit = std::max(std::abs(expected) * 0x1p-23, 0x1p-149);
  return std::abs(double(got) - expected) / unit;
}

TEST(row_math, exponential_is_within_one_unit_from_underflow_to_overflow) {
  for (const RowMath* math : versions())
    for (float x = -110; x < 95; x += 0.00731F) {
      float y = 0;
      math->exponentials(&x, 0, 1, 1, &y);
      const double exact = std::exp(double(x));
      if (exact > double(std::numeric_limits<float>::max()) * (1 + 0x1p-25))
        ASSERT_EQ(y, std::numeric_limits<float>::infinity()) << x;
      else
        ASSERT_LE(ulps(y, exact), 1) << x;
    }
}

TEST(row_math, exponential_keeps_nan_and_infinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{infinity, -infinity, std::nanf(""), 0, -0.0F};
  for (const RowMath* math : versions()) {
    std::vector<float> y(5);
    math->exponentials(x.data(), 0, 1, 5, y.data());
    EXPECT_EQ(y[0], infinity);
    EXPECT_EQ(y[1], 0);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 1);
    EXPECT_EQ(y[4], 1);
  }
}

// Everything that the functions give for one strip.
std::vector<double> all_results(const RowMath& math, std::int64_t count) {
  std::vector<Tensor> rows;
  for (unsigned seed = 0; seed < 8; ++seed)
    rows.push_back(random_tensor(DType::f32, count, seed, 3, 2));
  std::vector<double> out;
  std::vector<float> mean(std::size_t(count), 0.25F), squares(std::size_t(count), 3), y = mean;
  std::vector<double> sum(std::size_t(count), 1);
  const float *x = floats(rows[0]), *other = floats(rows[1]), *third = floats(rows[2]);
  RowBatch batch;
  for (std::size_t i = 0; i < 8; ++i) batch[i] = floats(rows[i]);
  const MomentColumns columns{other, mean.data(), squares.data()};
  math.join_one(x, columns, count, 3);
  math.join_eight(batch, columns, count, 4);
  out.insert(out.end(), mean.begin(), mean.end());
  out.insert(out.end(), squares.begin(), squares.end());
  const StripMoments moments = math.moments(x, 2.5F, count);
  const NormalStrip strip{x, other, third, 0.5F, 1.5F, mean.data(), squares.data()};
  const NormalSums sums = math.normal_gradient(strip, count);
  for (const float value : {moments.mean, moments.squares, sums.gradient, sums.product,
                            math.largest(x, count, -9), math.exponential_sum(x, 2, count)})
    out.push_back(double(value));
  out.insert(out.end(), mean.begin(), mean.end());
  out.insert(out.end(), squares.begin(), squares.end());
  math.add_exponentials(x, other, count, sum.data());
  out.insert(out.end(), sum.begin(), sum.end());
  math.exponentials(x, 1, 0.5F, count, y.data());
  out.insert(out.end(), y.begin(), y.end());
  math.column_exponentials(x, other, third, count, y.data());
  out.insert(out.end(), y.begin(), y.end());
  if (count % 16 != 0) return out;
  const Tensor a = random_tensor(DType::bf16, count, 11), b = random_tensor(DType::bf16, count, 12);
  const auto* const narrow = reinterpret_cast<const std::uint16_t*>(a.data());
  std::vector<std::uint16_t> rounded(std::size_t(count), 0);
  for (const float* wide : {static_cast<const float*>(nullptr), x}) {
    const auto* const second = reinterpret_cast<const std::uint16_t*>(b.data());
    const StripMoments of_sum =
        math.narrow_sum_moments({narrow, second, wide, 0.5F, y.data()}, count);
    out.insert(out.end(), {double(of_sum.mean), double(of_sum.squares)});
    out.insert(out.end(), y.begin(), y.end());
    math.normalize_to_bf16({y.data(), other, third, 0.5F, 0.25F, 1.5F}, count, rounded.data());
    out.insert(out.end(), rounded.begin(), rounded.end());
  }
  return out;
}

TEST(row_math, every_instruction_set_gives_the_same_bits) {
  for (const std::int64_t count : counts) {
    const std::vector<double> expected = all_results(baseline_row_math, count);
    for (const RowMath* math : versions()) {
      const std::vector<double> results = all_results(*math, count);
      EXPECT_EQ(std::memcmp(results.data(), expected.data(), 8 * expected.size()), 0) << count;
    }
  }
}

TEST(row_math, moments_of_a_strip_agree_with_double_loops) {
  for (const RowMath* math : versions())
    for (const std::int64_t count : counts) {
      const Tensor x = random_tensor(DType::f32, count, 1, 1e4, 1e-2);
      double mean = 0, squares = 0;
      for (const double v : doubles(x)) mean += (v - 1e4) / double(count);
      for (const double v : doubles(x)) squares += (v - 1e4 - mean) * (v - 1e4 - mean);
      const StripMoments moments = math->moments(floats(x), 1e4F, count);
      EXPECT_NEAR(double(moments.mean), mean, 1e-8);
      EXPECT_NEAR(double(moments.squares), squares, 1e-5 * squares + 1e-12);
    }
}

}  // namespace
}  // namespace narrowgauge::cpu::row_math_test
