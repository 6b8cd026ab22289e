// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/number_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/values.h"

namespace narrowgauge::number_format_test {
namespace {

const NumberFormat& format(std::string_view name) {
  const NumberFormat* found = find_number_format(name);
  require(found != nullptr, "no format ", name);
  return *found;
}

TEST(number_format, has_the_bits_and_ranges_of_its_dtype) {
  EXPECT_EQ(number_formats().size(), 12U);
  for (const NumberFormat& f : number_formats()) {
    SCOPED_TRACE(f.name);
    EXPECT_EQ(find_number_format(f.name), &f);
    if (f.dtype) {
      EXPECT_EQ(f.bits(), bits(*f.dtype));
      EXPECT_EQ(f.largest, largest_finite(*f.dtype));
    }
    EXPECT_EQ(from_pattern(f, to_pattern(f, f.largest)), f.largest);
    EXPECT_EQ(from_pattern(f, to_pattern(f, f.least)), f.least);
    if (f.is_float() && f.has_sign) {
      EXPECT_EQ(to_pattern(f, f.least), 1U);
      EXPECT_EQ(to_pattern(f, f.least_normal), std::uint64_t{1} << f.fraction_bits);
    }
  }
  EXPECT_EQ(find_number_format("f12"), nullptr);
}

TEST(number_format, tf32_is_what_f32_is_rounded_to) {
  const NumberFormat& tf32 = format("tf32");
  EXPECT_EQ(tf32.bits(), 19);
  for (std::uint64_t bits = 0; bits < 1ULL << 32; bits += 65521) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(from_pattern(tf32, to_pattern(tf32, double{value})), double{round_to_tf32(value)});
  }
  EXPECT_EQ(from_pattern(tf32, to_pattern(tf32, 3.14)), 3.140625);
  EXPECT_EQ(from_pattern(tf32, to_pattern(tf32, 1 + 0x1p-11 + 0x1p-40)), 1 + 0x1p-10);  // once
}

// Neighbours are what lies next among all numbers of the format.
TEST(number_format, neighbours_are_the_next_numbers) {
  for (const char* name : {"f16", "bf16", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz",
                           "f4e2m1", "f8e8m0", "i8"}) {
    SCOPED_TRACE(name);
    const NumberFormat& f = format(name);
    std::vector<double> numbers;
    for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << f.bits(); ++pattern)
      if (const double number = from_pattern(f, pattern); !std::isnan(number))
        numbers.push_back(number);
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());  // of two zeros one
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto [below, above] = neighbours(f, numbers[i]);
      ASSERT_EQ(below.has_value(), i > 0) << numbers[i];
      ASSERT_EQ(above.has_value(), i + 1 < numbers.size()) << numbers[i];
      ASSERT_EQ(below.value_or(0), i > 0 ? numbers[i - 1] : 0);
      ASSERT_EQ(above.value_or(0), i + 1 < numbers.size() ? numbers[i + 1] : 0);
    }
  }
  const auto nan = neighbours(format("f16"), NAN);
  EXPECT_FALSE(nan.below || nan.above);
}

TEST(number_format, steps_are_those_at_the_number) {
  EXPECT_EQ(step_at(format("f16"), 1), 0x1p-10);
  EXPECT_EQ(step_at(format("f16"), -3), 0x1p-9);
  EXPECT_EQ(step_at(format("f16"), 0), 0x1p-24);
  EXPECT_EQ(step_at(format("f16"), 65504), 32);
  EXPECT_EQ(step_at(format("f8e4m3fn"), 448), 32);
  EXPECT_EQ(step_at(format("f4e2m1"), -6), 2);
  EXPECT_EQ(step_at(format("i8"), -5), 1);
  EXPECT_EQ(step_at(format("f64"), 1), 0x1p-52);
}

TEST(fate, names_what_becomes_of_a_number) {
  struct Case {
    const char* name;
    double value;
    Fate fate;
  };
  for (const auto& [name, value, expected] : {Case{"f16", 3.14, Fate::rounded},
                                              Case{"f16", 3.140625, Fate::exact},
                                              Case{"f16", 65504, Fate::exact},
                                              Case{"f16", 65519.9, Fate::rounded},
                                              Case{"f16", 65520, Fate::overflow},
                                              Case{"f16", -1e9, Fate::overflow},
                                              Case{"f16", 1e-8, Fate::flushed},
                                              Case{"f16", 0x1p-25, Fate::flushed},
                                              Case{"f16", 0x1.1p-25, Fate::subnormal},
                                              Case{"f16", 0x1p-24, Fate::exact},
                                              Case{"f16", 1e-6, Fate::subnormal},
                                              Case{"f16", -0.0, Fate::exact},
                                              Case{"f16", HUGE_VAL, Fate::exact},
                                              Case{"f16", NAN, Fate::exact},
                                              Case{"f8e4m3fn", 464, Fate::rounded},
                                              Case{"f8e4m3fn", 465, Fate::overflow},
                                              Case{"f8e4m3fn", 480, Fate::overflow},
                                              Case{"f8e4m3fn", HUGE_VAL, Fate::overflow},
                                              Case{"f8e5m2", 61440, Fate::overflow},
                                              Case{"f8e5m2", 61439, Fate::rounded},
                                              Case{"f8e4m3fnuz", 247, Fate::rounded},
                                              Case{"f8e4m3fnuz", 249, Fate::overflow},
                                              Case{"f8e4m3fnuz", 0x1p-10, Fate::exact},
                                              Case{"f8e4m3fnuz", NAN, Fate::exact},
                                              Case{"f8e5m2fnuz", 0x1.4p-17, Fate::subnormal},
                                              Case{"f8e5m2fnuz", -HUGE_VAL, Fate::overflow},
                                              Case{"f4e2m1", 6.9, Fate::rounded},
                                              Case{"f4e2m1", 7, Fate::saturated},
                                              Case{"f4e2m1", -HUGE_VAL, Fate::saturated},
                                              Case{"f4e2m1", NAN, Fate::lost},
                                              Case{"f4e2m1", 0.25, Fate::flushed},
                                              Case{"f4e2m1", 0.3, Fate::subnormal},
                                              Case{"f8e8m0", 0, Fate::lost},
                                              Case{"f8e8m0", -1, Fate::lost},
                                              Case{"f8e8m0", 3, Fate::rounded},
                                              Case{"f8e8m0", 1e39, Fate::overflow},
                                              Case{"i8", 127.4, Fate::rounded},
                                              Case{"i8", 127.6, Fate::saturated},
                                              Case{"i8", -128, Fate::exact},
                                              Case{"i8", -128.6, Fate::saturated},
                                              Case{"i8", 0.4, Fate::flushed},
                                              Case{"i8", 0.7, Fate::rounded},
                                              Case{"f32", 1e-50, Fate::flushed},
                                              Case{"f64", 0.1, Fate::exact},
                                              Case{"bf16", 1e-39, Fate::subnormal},
                                              Case{"tf32", 3.4015e38, Fate::rounded}})
    EXPECT_EQ(fate(format(name), value), expected) << name << ' ' << value;
}

// Around where each format begins to flush, to have all its bits, and to overflow; and anything.
Tensor all_over(std::size_t count) {
  std::vector<float> values{0, -0.0F, NAN, HUGE_VALF, -HUGE_VALF};
  for (const NumberFormat& f : number_formats())
    for (const double edge :
         {f.least / 2, f.least_normal, f.largest, f.largest + step_at(f, f.largest) / 2,
          f.largest + step_at(f, f.largest)}) {
      const auto at = static_cast<float>(edge);
      for (const float value : {at, std::nextafter(at, 0.0F), std::nextafter(at, HUGE_VALF)})
        values.push_back(value);
    }
  const std::size_t edges = values.size();
  std::uint32_t state = 1;
  while (values.size() < count)
    values.push_back(std::bit_cast<float>(state = state * 1664525 + 1013904223));
  // Half of them within the ranges of the narrow formats.
  for (std::size_t i = edges; i < count; i += 2) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    values[i] = std::bit_cast<float>((bits & 0x807ff000) | (127 - 30 + bits % 48) << 23);
  }
  return Tensor::from<float>({static_cast<std::int64_t>(count)}, values);
}

TEST(count_fates, counts_what_each_value_becomes) {
  const Tensor values = all_over(100'000);
  for (const NumberFormat& f : number_formats())
    for (const double scale : {1.0, 1024.0}) {
      SCOPED_TRACE(f.name);
      FateCounts expected{};
      for (std::int64_t i = 0; i < values.size(); ++i) {
        const double value = values.at(i) * scale;
        if (std::isfinite(value)) ++expected[static_cast<std::size_t>(fate(f, value))];
      }
      EXPECT_EQ(count_fates(f, values, scale), expected);
    }
}

TEST(exponent_histogram, counts_by_exponent) {
  ExponentHistogram histogram;
  histogram.add(Tensor::from<float>(
      {9}, std::vector<float>{0, 1, -1.5F, 2, 0.5F, 0x1p-149F, NAN, HUGE_VALF, 3e38F}));
  histogram.add(Tensor::scalar(DType::f32, 1), 4);
  EXPECT_EQ(histogram.zeros, 1);
  EXPECT_EQ(histogram.nans, 1);
  EXPECT_EQ(histogram.infinities, 1);
  EXPECT_EQ(histogram.at(0), 2);
  EXPECT_EQ(histogram.at(1), 1);
  EXPECT_EQ(histogram.at(2), 1);
  EXPECT_EQ(histogram.at(-1), 1);
  EXPECT_EQ(histogram.at(-149), 1);
  EXPECT_EQ(histogram.at(127), 1);
  EXPECT_EQ(histogram.total(), 10);
}

}  // namespace
}  // namespace narrowgauge::number_format_test
