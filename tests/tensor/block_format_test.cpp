// SPDX-License-Identifier: Apache-2.0
// Block formats against the rules of their specifications, worked out in double by search through
// all elements, and what follows from the rules.
#include "narrowgauge/block_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/machine/floating_environment.h"
#include "base/random.h"
#include "tensor/values.h"

namespace narrowgauge::block_format_test {
namespace {

// The numbers from 0 up that a sign, exponent and mantissa bits make; those past `count` are not
// finite.
std::vector<double> positive_numbers(int exponent_bits, int mantissa_bits, unsigned count) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  std::vector<double> numbers;
  for (unsigned code = 0; code < count; ++code) {
    const int field = static_cast<int>(code >> mantissa_bits);
    const double mantissa = static_cast<double>(code & ((1U << mantissa_bits) - 1));
    const double fraction = std::ldexp(mantissa, -mantissa_bits);
    numbers.push_back(field == 0 ? std::ldexp(fraction, 1 - bias)
                                 : std::ldexp(1 + fraction, field - bias));
  }
  return numbers;
}

std::vector<double> numbers_of(DType element) {
  if (element == DType::f4e2m1) return positive_numbers(2, 1, 8);
  if (element == DType::f8e5m2) return positive_numbers(5, 2, 0x7c);
  return positive_numbers(4, 3, 0x7f);
}

// The nearest number, of two as near the one with the even code; the largest for what is beyond.
double nearest(const std::vector<double>& numbers, double value) {
  const double magnitude = std::fabs(value);
  std::size_t best = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const double now = std::fabs(numbers[i] - magnitude),
                 before = std::fabs(numbers[best] - magnitude);
    if (now < before || (now == before && i % 2 == 0)) best = i;
  }
  return std::copysign(numbers[best], value);
}

double amax_of(const float* x, std::int64_t count) {
  double amax = 0;
  for (std::int64_t i = 0; i < count; ++i) amax = std::max(amax, std::fabs(double{x[i]}));
  return amax;
}

// What a block becomes, by OCP MX 1.0, 6.3: all of it is exact in double.
std::vector<double> mx_block(DType element, const float* x, std::int64_t count) {
  const auto numbers = numbers_of(element);
  const double amax = amax_of(x, count);
  const int power =
      amax == 0 ? -127 : std::max(std::ilogb(amax) - std::ilogb(numbers.back()), -127);
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(std::ldexp(nearest(numbers, std::ldexp(double{x[i]}, -power)), power));
  return result;
}

// A block as arXiv 2509.25149, appendix C, has it, in f32 where the recipe computes.
std::vector<double> nvfp4_block(float tensor_amax, const float* x, std::int64_t count) {
  const float encode = 6 * 448 / tensor_amax, decode = 1 / encode;
  const auto amax = static_cast<float>(amax_of(x, count));
  const double wanted = double{amax / 6 * encode};
  const auto scale = static_cast<float>(nearest(numbers_of(DType::f8e4m3fn), wanted));
  const float block_encode = 1 / (scale * decode);
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const double code = scale == 0 ? 0 : nearest(numbers_of(DType::f4e2m1), x[i] * block_encode);
    result.push_back(double{static_cast<float>(code) * scale * decode});
  }
  return result;
}

// Normal numbers with exponents that differ from row to row and, a little, within one.
std::vector<float> some_values(std::int64_t count, std::uint64_t seed, int spread = 20) {
  const RandomStream stream(seed, "blocks");
  std::vector<float> values;
  std::uint64_t counter = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int k = 0; k < 4; ++k) sum += stream.bits(counter++) * 0x1p-32 - 0.5;
    const auto row = static_cast<int>(i / 64), step = static_cast<int>(stream.bits(counter++) % 4);
    const bool zero = stream.bits(counter++) % 16 == 0;
    values.push_back(
        zero ? 0.0F
             : static_cast<float>(std::ldexp(sum, row * 7 % (2 * spread + 1) - spread - step)));
  }
  return values;
}

struct Stored {
  std::vector<std::byte> elements, scales;
  float tensor_scale = 1;
  std::vector<float> values;  // dequantised
};

Stored there_and_back(const BlockFormat& format, const std::vector<float>& x, BlockRows rows) {
  Stored stored;
  stored.elements.resize(
      static_cast<std::size_t>(bytes_for(rows.rows * rows.length, format.element)));
  stored.scales.resize(static_cast<std::size_t>(
      bytes_for(rows.rows * blocks_in_row(format, rows.length), format.scale)));
  stored.tensor_scale =
      quantize(format, x.data(), rows, {stored.elements.data(), stored.scales.data()});
  stored.values.resize(x.size());
  dequantize(format, {stored.elements.data(), stored.scales.data(), stored.tensor_scale}, rows,
             stored.values.data());
  return stored;
}

void expect_blocks(const BlockFormat& format, const std::vector<float>& x, BlockRows rows,
                   auto expected_block) {
  const Stored stored = there_and_back(format, x, rows);
  for (std::int64_t row = 0; row < rows.rows; ++row)
    for (std::int64_t at = 0; at < rows.length; at += format.block) {
      const std::int64_t first = row * rows.length + at;
      const std::int64_t count = std::min<std::int64_t>(format.block, rows.length - at);
      const auto expected = expected_block(x.data() + first, count);
      for (std::int64_t i = 0; i < count; ++i) {
        const double got = stored.values[static_cast<std::size_t>(first + i)];
        const double wanted = expected[static_cast<std::size_t>(i)];
        ASSERT_EQ(got, wanted) << "row " << row << ", element " << at + i << ", from "
                               << x[static_cast<std::size_t>(first + i)];
        ASSERT_EQ(std::signbit(got), std::signbit(wanted));
      }
    }
}

constexpr BlockFormat mx_formats[] = {mxfp8_e4m3, mxfp8_e5m2, mxfp4};
// A whole number of blocks, part of one, one element more or less than bytes hold.
constexpr BlockRows shapes[] = {{40, 64}, {37, 40}, {23, 33}, {64, 1}, {1, 2560}};

TEST(block_format, mx_blocks_are_those_of_the_specification) {
  for (const BlockFormat& format : mx_formats)
    for (const BlockRows rows : shapes)
      for (const int spread : {0, 20, 120}) {
        SCOPED_TRACE(concat(format.element, ' ', rows.rows, 'x', rows.length, ' ', spread));
        expect_blocks(
            format, some_values(rows.rows * rows.length, 1, spread), rows,
            [&](const float* x, std::int64_t count) { return mx_block(format.element, x, count); });
      }
}

TEST(block_format, nvfp4_blocks_are_those_of_the_recipe) {
  for (const BlockRows rows : shapes)
    for (const int spread : {0, 3, 20}) {
      SCOPED_TRACE(concat(rows.rows, 'x', rows.length, ' ', spread));
      const auto x = some_values(rows.rows * rows.length, 2, spread);
      const auto amax = static_cast<float>(amax_of(x.data(), std::ssize(x)));
      expect_blocks(nvfp4, x, rows, [&](const float* block, std::int64_t count) {
        return nvfp4_block(amax, block, count);
      });
    }
}

TEST(block_format, scales_of_the_tensor_take_the_largest_to_the_largest) {
  for (const BlockFormat& format : {scaled_e4m3, scaled_e5m2}) {
    const BlockRows rows{3, 1500};
    const auto x = some_values(4500, 3, 3);
    const auto amax = static_cast<float>(amax_of(x.data(), 4500));
    const Stored stored = there_and_back(format, x, rows);
    EXPECT_EQ(stored.tensor_scale, amax / static_cast<float>(largest_finite(format.element)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float element =
          static_cast<float>(nearest(numbers_of(format.element), x[i] / stored.tensor_scale));
      ASSERT_EQ(stored.values[i], element * stored.tensor_scale) << x[i];
    }
  }
}

TEST(block_format, allows_scales_in_f32) {
  const BlockFormat format{DType::f8e4m3fn, 128, DType::f32, false};
  const auto x = some_values(600, 4, 100);
  const Stored stored = there_and_back(format, x, {2, 300});
  float scale = 0;
  std::memcpy(&scale, stored.scales.data() + 8, 4);  // of elements 256 ... 299 of the first row
  EXPECT_EQ(scale, static_cast<float>(amax_of(x.data() + 256, 44)) / 448);
  for (std::size_t i = 256; i < 300; ++i)
    ASSERT_EQ(stored.values[i],
              static_cast<float>(nearest(numbers_of(DType::f8e4m3fn), x[i] / scale)) * scale);
}

TEST(block_format, stores_what_was_stored_again) {
  for (const BlockFormat& format : mx_formats)
    for (const int spread : {0, 20, 120}) {
      const BlockRows rows{50, 70};
      const Stored once = there_and_back(format, some_values(3500, 5, spread), rows);
      const Stored twice = there_and_back(format, once.values, rows);
      EXPECT_EQ(once.elements, twice.elements);
      EXPECT_EQ(once.scales, twice.scales);
    }
  // Scales that are rounded themselves come back too, as long as they are normal.
  const Stored once = there_and_back(nvfp4, some_values(3500, 5, 0), {50, 70});
  const Stored twice = there_and_back(nvfp4, once.values, {50, 70});
  EXPECT_EQ(once.elements, twice.elements);
  EXPECT_EQ(once.scales, twice.scales);
}

TEST(block_format, keeps_elements_when_all_is_times_a_power_of_two) {
  for (const NamedBlockFormat& named : block_formats()) {
    SCOPED_TRACE(named.name);
    const BlockRows rows{20, 48};
    auto x = some_values(960, 6, 5);
    const Stored before = there_and_back(named.format, x, rows);
    for (float& value : x) value *= 0x1p9F;
    const Stored after = there_and_back(named.format, x, rows);
    EXPECT_EQ(before.elements, after.elements);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(before.values[i] * 0x1p9F, after.values[i]);
    if (named.format.scale != DType::f8e8m0) {
      EXPECT_EQ(before.scales, after.scales);
    } else {
      for (std::size_t i = 0; i < before.scales.size(); ++i) {
        if (before.scales[i] == std::byte{0}) continue;  // a block of zeros
        ASSERT_EQ(std::to_integer<int>(before.scales[i]) + 9,
                  std::to_integer<int>(after.scales[i]));
      }
    }
  }
}

// Half a step of the element next to the value, or what lies beyond the largest element: that is at
// most amax / 2^(mantissa bits + 1) or, where the block's largest is cut off, amax less the
// largest.
TEST(block_format, errs_by_less_than_half_a_step_at_the_largest_of_the_block) {
  struct Bound {
    BlockFormat format;
    double share;  // of the amax of the block
  };
  for (const auto& [format, share] :
       {Bound{mxfp8_e4m3, 0.125}, Bound{mxfp8_e5m2, 0.125}, Bound{mxfp4, 0.25}}) {
    const auto x = some_values(64000, 7, 30);
    const Stored stored = there_and_back(format, x, {1000, 64});
    double worst = 0;
    for (std::size_t first = 0; first < x.size(); first += 32) {
      const double amax = amax_of(x.data() + first, 32);
      for (std::size_t i = first; i < first + 32; ++i) {
        const double error = std::fabs(double{stored.values[i]} - double{x[i]});
        ASSERT_LE(error, share * amax);
        if (amax > 0) worst = std::max(worst, error / amax);
      }
    }
    EXPECT_GT(worst, share / 2);  // the bound is not idle
  }
}

TEST(block_format, makes_nan_of_blocks_with_what_is_not_finite) {
  for (const float special : {NAN, -NAN, HUGE_VALF, -HUGE_VALF})
    for (const NamedBlockFormat& named : block_formats()) {
      const BlockFormat& format = named.format;
      SCOPED_TRACE(concat(named.name, ' ', special));
      auto x = some_values(192, 8, 0);
      const Stored clean = there_and_back(format, x, {3, 64});
      x[70] = special;
      const Stored stored = there_and_back(format, x, {3, 64});
      if (format.block == 0) {
        EXPECT_EQ(std::isnan(stored.values[70]),
                  std::isnan(special) || format.element == DType::f8e4m3fn);
        EXPECT_FALSE(std::isfinite(stored.values[70]));
        continue;
      }
      const std::int64_t block = 70 / format.block;
      for (std::int64_t i = 0; i < 192; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (i / format.block == block)
          EXPECT_TRUE(std::isnan(stored.values[at])) << i;
        else
          EXPECT_EQ(stored.values[at], clean.values[at]) << i;
      }
    }
}

TEST(block_format, stores_zeros_and_the_ends_of_f32) {
  constexpr float huge = std::numeric_limits<float>::max();
  for (const NamedBlockFormat& named : block_formats()) {
    SCOPED_TRACE(named.name);
    const std::vector<float> zeros(40, 0.0F);
    for (const float value : there_and_back(named.format, zeros, {1, 40}).values)
      EXPECT_EQ(value, 0);
    // Scales of MX and f32 reach where f32 ends, those of two levels to 2^-117 of the tensor's.
    const float tiny = named.format == nvfp4 ? 0x1p-100F : 0x1p-126F;
    for (const float value :
         there_and_back(named.format, std::vector<float>(40, tiny), {1, 40}).values)
      EXPECT_NEAR(value / tiny, 1, 0.25);
    for (const float value :
         there_and_back(named.format, std::vector<float>(40, 0x1p-149F), {1, 40}).values)
      EXPECT_LE(value, 0x1p-148F);
    const Stored stored = there_and_back(named.format, std::vector<float>(40, huge), {1, 40});
    for (const float value : stored.values)
      EXPECT_TRUE(value >= 0.74F * huge || value == HUGE_VALF) << value;
  }
}

TEST(block_format, gives_the_same_while_denormals_are_flushed) {
  for (const NamedBlockFormat& named : block_formats()) {
    const auto x = some_values(6400, 9, 60);
    const Stored expected = there_and_back(named.format, x, {100, 64});
    const FloatingEnvironment flush(Subnormals::flush);
    const Stored flushed = there_and_back(named.format, x, {100, 64});
    EXPECT_EQ(expected.elements, flushed.elements);
    EXPECT_EQ(expected.scales, flushed.scales);
    EXPECT_EQ(expected.values, flushed.values);
  }
}

TEST(block_format, lays_elements_two_to_a_byte_across_rows) {
  const std::vector<float> x{6, -0.5F, 1, 4, 3, -2};
  const Stored stored = there_and_back(mxfp4, x, {2, 3});
  const std::vector<std::byte> expected{std::byte{0x97}, std::byte{0x62}, std::byte{0xc5}};
  EXPECT_EQ(stored.elements, expected);
  EXPECT_EQ(stored.scales, (std::vector<std::byte>{std::byte{127}, std::byte{127}}));
}

TEST(block_format, takes_tensors) {
  const auto x = some_values(2 * 3 * 40, 10, 2);
  const Tensor values = Tensor::from<float>({2, 3, 40}, x);
  const BlockTensor stored = quantize(nvfp4, values);
  EXPECT_EQ(concat(stored.elements.type()), "f4e2m1[2,3,40]");
  EXPECT_EQ(concat(stored.scales.type()), "f8e4m3fn[2,3,3]");
  const Stored raw = there_and_back(nvfp4, x, {6, 40});
  const Tensor back = dequantize(stored);
  for (std::int64_t i = 0; i < 240; ++i)
    EXPECT_EQ(back.at(i), raw.values[static_cast<std::size_t>(i)]);
  EXPECT_EQ(concat(quantize(scaled_e4m3, values).scales.type()), "f32[2,3,0]");
  EXPECT_EQ(quantize(mxfp4, Tensor(DType::f32, {0, 7})).elements.size(), 0);
}

TEST(block_format, knows_its_bits_and_refuses_nonsense) {
  EXPECT_EQ(bits_per_element(mxfp4), 4.25);
  EXPECT_EQ(bits_per_element(nvfp4), 4.5);
  EXPECT_EQ(bits_per_element(mxfp8_e4m3), 8.25);
  EXPECT_EQ(bits_per_element(scaled_e5m2), 8);
  EXPECT_EQ(blocks_in_row(nvfp4, 33), 3);
  EXPECT_EQ(blocks_in_row(scaled_e4m3, 33), 0);
  for (const BlockFormat& wrong :
       {BlockFormat{DType::f16, 32, DType::f8e8m0, false},
        BlockFormat{DType::f4e2m1, -1, DType::f8e8m0, false},
        BlockFormat{DType::f4e2m1, 16, DType::f8e5m2, false},
        BlockFormat{DType::f4e2m1, 16, DType::f8e4m3fn, false},
        BlockFormat{DType::f4e2m1, 16, DType::f8e8m0, true}, BlockFormat{DType::f4e2m1, 0}})
    EXPECT_THROW(check(wrong), UsageError);
  EXPECT_THROW(quantize(mxfp4, Tensor::scalar(DType::f32, 1)), UsageError);
}

}  // namespace
}  // namespace narrowgauge::block_format_test
