// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding, and the roundings of f32 to tf32.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "tensor/values.h"

namespace narrowgauge::stochastic_test {
namespace {

// How often a value is rounded up, over random numbers that are spread evenly.
template <class T>
double share_of(float value, unsigned pattern, std::uint32_t draws) {
  std::uint32_t hits = 0;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const auto random = static_cast<std::uint32_t>((std::uint64_t{draw} << 32) / draws);
    hits += narrow_stochastic<T>(value, random).bits == pattern;
  }
  return hits / static_cast<double>(draws);
}

TEST(stochastic_rounding, goes_up_exactly_as_often_as_the_remainder_says) {
  constexpr std::uint32_t draws = 1 << 16;  // bf16 drops 16 bits of f32
  for (const std::uint32_t remainder : {0U, 1U, 0x4000U, 0x8000U, 0xfffeU, 0xffffU})
    for (const std::uint32_t upper : {0x3f80U, 0x3fffU, 0xbf80U, 0x0000U, 0x0001U, 0x8010U}) {
      const float value = std::bit_cast<float>(upper << 16 | remainder);
      EXPECT_EQ(share_of<bf16>(value, upper + 1, draws), remainder / 65536.0) << value;
      EXPECT_EQ(share_of<bf16>(value, upper, draws), 1 - remainder / 65536.0) << value;
    }
}

// Below the smallest subnormal too, where many bits are dropped, the mean is the value.
template <class T>
void expect_mean(float value) {
  constexpr std::uint32_t draws = 1 << 20;
  double sum = 0, smallest = INFINITY, largest = -INFINITY;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const double rounded = widen(narrow_stochastic<T>(value, draw << 12));
    sum += rounded;
    smallest = std::min(smallest, rounded);
    largest = std::max(largest, rounded);
  }
  const double step = largest - smallest;
  EXPECT_LE(smallest, value);
  EXPECT_GE(largest, value);
  EXPECT_NEAR(sum / draws, value, step / draws) << value;
}

TEST(stochastic_rounding, keeps_the_mean) {
  for (const float sign : {1.0F, -1.0F}) {
    for (const float value : {1.2345F, 0.3e-4F, 1e-6F, 60001.5F, 2.5e-8F, 3.999F})
      expect_mean<f16>(sign * value);
    for (const float value : {1.2345F, 1.5e-3F, 0.001F, 447.0F, 0.0171F})
      expect_mean<f8e4m3fn>(sign * value);
    for (const float value : {0x1.8p-21F, 0x1p-26F}) expect_mean<f8e4m3fn>(sign * value);
    for (const float value : {1.2345F, 1e-5F, 4e-6F, 50000.0F}) expect_mean<f8e5m2>(sign * value);
    for (const float value : {1.2345F, 1e-39F, 3e38F}) expect_mean<bf16>(sign * value);
  }
}

TEST(stochastic_rounding, keeps_the_mean_with_our_random_numbers) {
  const RandomStream stream(1, "rounding");
  constexpr int count = 1 << 20;
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    sum += widen(narrow_stochastic<bf16>(1.001F, stream.bits(i)));
  const double step = 0x1p-7, p = (1.001F - 1.0) / step;
  EXPECT_NEAR(sum / count, 1.001F, 5 * step * std::sqrt(p * (1 - p) / count));
}

TEST(stochastic_rounding, leaves_special_values_alone_and_may_overflow) {
  for (const std::uint32_t random : {0U, 0x80000000U, 0xffffffffU}) {
    EXPECT_EQ(narrow_stochastic<f16>(INFINITY, random).bits, 0x7c00);
    EXPECT_EQ(narrow_stochastic<f16>(-INFINITY, random).bits, 0xfc00);
    EXPECT_EQ(narrow_stochastic<f8e4m3fn>(INFINITY, random).bits, 0x7f);
    EXPECT_EQ(narrow_stochastic<f16>(NAN, random).bits & 0x7fff, 0x7e00);
    EXPECT_EQ(narrow_stochastic<f16>(0.0F, random).bits, 0);
    EXPECT_EQ(narrow_stochastic<f16>(-0.0F, random).bits, 0x8000);
    EXPECT_EQ(narrow_stochastic<f16>(1e30F, random).bits, 0x7c00);
    EXPECT_EQ(narrow_stochastic<f16>(65504.0F, random).bits, 0x7bff);
  }
  EXPECT_EQ(share_of<f16>(65512.0F, 0x7c00, 1 << 16), 0.25);  // a quarter of the last step of 32
}

TEST(stochastic_rounding, never_raises_what_is_below_its_resolution) {
  for (const std::uint32_t random : {0U, 1U, 0xffffffffU})
    EXPECT_EQ(narrow_stochastic<f8e4m3fn>(1e-30F, random).bits, 0);
}

// 11 significant bits by arithmetic in double; every f32 and its ties are exact there.
double rounded_to_11_bits(float value, bool ties_away) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), -126) - 10;
  const double scaled = std::ldexp(static_cast<double>(value), -exponent);
  const double whole = ties_away ? std::round(scaled) : std::nearbyint(scaled);
  const double result = std::ldexp(whole, exponent);
  return std::fabs(result) >= 0x1p128 ? std::copysign(INFINITY, result) : result;
}

TEST(tf32, rounds_to_eleven_significant_bits) {
  for (std::uint64_t bits = 0; bits < 1ULL << 32; bits += 4093) {
    for (const std::uint32_t low : {0U, 0x0fffU, 0x1000U, 0x1001U, 0x1fffU}) {
      const auto value = std::bit_cast<float>((static_cast<std::uint32_t>(bits) & ~0x1fffU) | low);
      if (std::isnan(value)) continue;
      ASSERT_EQ(static_cast<double>(round_to_tf32(value)), rounded_to_11_bits(value, false));
      ASSERT_EQ(static_cast<double>(round_to_tf32_away(value)), rounded_to_11_bits(value, true));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(truncate_to_tf32(value)) & 0x1fff, 0U);
      ASSERT_LE(std::fabs(truncate_to_tf32(value)), std::fabs(value));
      ASSERT_EQ(std::signbit(round_to_tf32(value)), std::signbit(value));
    }
  }
}

TEST(tf32, keeps_nans_that_would_turn_into_infinities) {
  for (const std::uint32_t bits : {0x7f800001U, 0xff800001U, 0x7fffffffU, 0x7f801000U}) {
    const auto nan = std::bit_cast<float>(bits);
    for (const float result :
         {round_to_tf32(nan), round_to_tf32_away(nan), truncate_to_tf32(nan)}) {
      EXPECT_TRUE(std::isnan(result));
      EXPECT_EQ(std::signbit(result), bits >> 31 != 0);
    }
  }
}

}  // namespace
}  // namespace narrowgauge::stochastic_test
