// SPDX-License-Identifier: Apache-2.0
#include "quantize/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "quantize/values.h"

namespace narrowgauge::exact_sum_test {
namespace {

using namespace testing_values;

ExactSum sum_of(std::span<const float> values) {
  ExactSum sum;
  sum.add(values);
  return sum;
}

TEST(exact_sum, is_the_sum_where_f64_has_it) {
  // Multiples of 2^-20 below 2^10: sums of some thousand fit 53 bits.
  std::mt19937 dice(1);
  for (const std::size_t count : {0u, 1u, 5u, 40u, 49u, 1000u}) {
    Floats values(count);
    double expected = 0;
    for (float& value : values) {
      value = std::ldexp(static_cast<float>(static_cast<std::int32_t>(dice()) >> 8), -14);
      expected += double{value};
    }
    EXPECT_EQ(sum_of(values).value(), expected);
    EXPECT_EQ(sum_of(values).mean(), count > 0 ? expected / static_cast<double>(count) : 0);
  }
}

TEST(exact_sum, loses_nothing_between_large_and_small) {
  constexpr float large = std::numeric_limits<float>::max(), least = 1e-45f;
  EXPECT_EQ(sum_of(Floats{large, least, -large}).value(), double{least});
  EXPECT_EQ(sum_of(Floats{-large, 1, large, -3, least}).value(), -2.0);
  EXPECT_EQ(sum_of(Floats{large, large}).value(), 2 * double{large});
  EXPECT_EQ(sum_of(Floats(1000, -large)).value(), -1000 * double{large});
  EXPECT_EQ(sum_of(Floats(1000, least)).value(), 1000 * double{least});
}

TEST(exact_sum, rounds_once_to_nearest_even) {
  const float two_53 = 0x1p53f, two_54 = 0x1p54f;
  EXPECT_EQ(sum_of(Floats{two_53, 1}).value(), 0x1p53);
  EXPECT_EQ(sum_of(Floats{two_53, 1, 1e-30f}).value(), 0x1p53 + 2);
  EXPECT_EQ(sum_of(Floats{two_53, 2, 1}).value(), 0x1p53 + 4);
  EXPECT_EQ(sum_of(Floats{two_54, 2, -1e-30f}).value(), 0x1p54);
  EXPECT_EQ(sum_of(Floats{-two_53, -1, -1e-30f}).value(), -0x1p53 - 2);
}

TEST(exact_sum, leaves_out_what_is_not_finite) {
  for (const std::size_t more : {0u, 100u}) {
    Floats values{1, NAN, 2, INFINITY, -INFINITY};
    values.resize(values.size() + more, 3);
    const ExactSum sum = sum_of(values);
    EXPECT_EQ(sum.count(), static_cast<std::int64_t>(2 + more));
    EXPECT_EQ(sum.value(), 3.0 + 3.0 * static_cast<double>(more));
  }
}

TEST(exact_sum, parts_in_any_order_give_the_whole) {
  Floats values = any_bits(20000);
  const ExactSum whole = sum_of(values);
  std::mt19937 dice(5);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(values.begin(), values.end(), dice);
    ExactSum merged;
    for (std::size_t begin = 0; begin < values.size();) {
      const std::size_t size = std::min<std::size_t>(dice() % 200, values.size() - begin);
      const ExactSum part = sum_of(std::span(values).subspan(begin, size));
      ExactSum other = part;
      other.merge(merged);
      merged.merge(part);
      EXPECT_EQ(merged, other);
      begin += size;
    }
    EXPECT_EQ(merged, whole);
  }
}

TEST(exact_sum, one_by_one_is_the_same) {
  const Floats values = any_bits(3000);
  ExactSum sum;
  for (const float value : values) sum.add(value);
  EXPECT_EQ(sum, sum_of(values));
}

TEST(exact_sum, text) {
  EXPECT_EQ(ExactSum().text(), "0");
  EXPECT_EQ(sum_of(Floats{1e-45f}).text(), "1p0");
  EXPECT_EQ(sum_of(Floats{-1e-45f}).text(), "-1p0");
  EXPECT_EQ(sum_of(Floats{0.5f}).text(), "1p148");
  EXPECT_EQ(sum_of(Floats{-13, -13.5f}).text(), "-35p148");
}

TEST(exact_sum, text_is_read_back) {
  for (const Floats& values : {any_bits(2000), normal(100), Floats{}, Floats{-1e-45f},
                               Floats{1, -1}, Floats(100, -3.4e38f)}) {
    const ExactSum sum = sum_of(values);
    const auto read = ExactSum::parse(sum.text(), sum.count());
    ASSERT_TRUE(read) << sum.text();
    EXPECT_EQ(*read, sum);
  }
}

TEST(exact_sum, other_texts_are_refused) {
  for (const char* text :
       {"",    "-",    "p",   "1",   "0p0",  "-0",   "1p",    "10p0",   "01p0",
        "1p3", "1p-4", "1P0", "Ap0", "1p0 ", " 1p0", "--1p0", "1p4000", "1p99999999999",
        "g",   "1pp0", "1p1"})
    EXPECT_FALSE(ExactSum::parse(text, 1)) << text;
  EXPECT_FALSE(ExactSum::parse("1p0", -1));
  const std::string too_long = "1" + std::string(200, '0') + "1p0";
  EXPECT_FALSE(ExactSum::parse(too_long, 1));
}

}  // namespace
}  // namespace narrowgauge::exact_sum_test
