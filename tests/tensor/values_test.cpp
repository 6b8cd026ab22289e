// SPDX-License-Identifier: Apache-2.0
// Every narrow format against a table of its values that is made from the format's definition.
#include "tensor/values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/machine/floating_environment.h"

namespace narrowgauge::values_test {
namespace {

template <class T>
struct Definition;
template <>
struct Definition<f16> {
  static constexpr int exponent_bits = 5, mantissa_bits = 10, total = 16;
};
template <>
struct Definition<bf16> {
  static constexpr int exponent_bits = 8, mantissa_bits = 7, total = 16;
};
template <>
struct Definition<f8e4m3fn> {
  static constexpr int exponent_bits = 4, mantissa_bits = 3, total = 8;
};
template <>
struct Definition<f8e5m2> {
  static constexpr int exponent_bits = 5, mantissa_bits = 2, total = 8;
};

// One NaN in the place of negative zero, and a bias one higher.
template <class T>
constexpr bool one_zero = std::is_same_v<T, f8e4m3fnuz> || std::is_same_v<T, f8e5m2fnuz>;
template <>
struct Definition<f8e4m3fnuz> : Definition<f8e4m3fn> {};
template <>
struct Definition<f8e5m2fnuz> : Definition<f8e5m2> {};

template <>
struct Definition<f4e2m1> {
  static constexpr int exponent_bits = 2, mantissa_bits = 1, total = 4;
};

template <class T>
T from_pattern(unsigned pattern) {
  return T{static_cast<decltype(T::bits)>(pattern)};
}

// The value of a pattern without its sign, as the formats are defined: IEEE 754 3.4, and OCP 8-bit
// floating point 1.0, where E4M3 gives up infinities and all NaNs but one for larger numbers; OCP
// MX 1.0, where E2M1 has neither; ONNX, "Float stored in 8 bits", for E4M3FNUZ and E5M2FNUZ.
template <class T>
double defined_value(unsigned pattern) {
  using D = Definition<T>;
  constexpr bool extended = std::is_same_v<T, f8e4m3fn>;
  const int field = static_cast<int>(pattern >> D::mantissa_bits);
  const int mantissa = static_cast<int>(pattern & ((1U << D::mantissa_bits) - 1));
  const int bias = (1 << (D::exponent_bits - 1)) - (one_zero<T> ? 0 : 1);
  const bool special = field == (1 << D::exponent_bits) - 1;
  if (extended && pattern == 0x7f) return NAN;
  if (!extended && special && !std::is_same_v<T, f4e2m1> && !one_zero<T>)
    return mantissa ? NAN : INFINITY;
  if (field == 0) return std::ldexp(mantissa, 1 - bias - D::mantissa_bits);
  return std::ldexp(mantissa + (1 << D::mantissa_bits), field - bias - D::mantissa_bits);
}

template <class T>
class NarrowFormat : public testing::Test {
 protected:
  static constexpr unsigned sign = 1U << (Definition<T>::total - 1);

  // Patterns of the positive finite values, 0 first; one more is what overflow gives.
  static unsigned finite_count() {
    unsigned count = 0;
    while (count < sign && std::isfinite(defined_value<T>(count))) ++count;
    return count;
  }

  template <class Wide>
  static void expect_rounds_to(Wide value, unsigned pattern) {
    ASSERT_EQ(narrow<T>(value).bits, pattern) << value;
    const bool has_negative = pattern != 0 || !one_zero<T>;
    ASSERT_EQ(narrow<T>(-value).bits, has_negative ? pattern | sign : 0) << -value;
  }

  // Between two neighbours: the middle goes to the even one, all else to the nearer one.
  template <class Wide>
  static void check_gap(unsigned lower, double low, double high) {
    const double middle = low + (high - low) / 2;
    const auto tie = static_cast<Wide>(middle);
    if (static_cast<double>(tie) != middle) return;  // bf16's middle of the first gap, in f32
    const Wide infinity = std::numeric_limits<Wide>::infinity();
    expect_rounds_to(tie, lower + lower % 2);
    expect_rounds_to(std::nextafter(tie, Wide{0}), lower);
    expect_rounds_to(std::nextafter(tie, infinity), lower + 1);
    expect_rounds_to(std::nextafter(static_cast<Wide>(low), infinity), lower);
    const bool one_step_apart = std::nextafter(static_cast<Wide>(low), infinity) == tie;
    if (!one_step_apart)
      expect_rounds_to(std::nextafter(static_cast<Wide>(high), Wide{0}), lower + 1);
  }
};

using Formats = testing::Types<f16, bf16, f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f4e2m1>;
TYPED_TEST_SUITE(NarrowFormat, Formats);

TYPED_TEST(NarrowFormat, widens_every_pattern_to_its_definition) {
  using T = TypeParam;
  for (unsigned pattern = one_zero<T> ? 1 : 0; pattern < this->sign; ++pattern) {
    const double expected = defined_value<T>(pattern);
    const float positive = widen(from_pattern<T>(pattern));
    const float negative = widen(from_pattern<T>(pattern | this->sign));
    ASSERT_EQ(std::signbit(positive), false);
    ASSERT_EQ(std::signbit(negative), true);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(positive) && std::isnan(negative)) << pattern;
    } else {
      ASSERT_EQ(static_cast<double>(positive), expected) << pattern;
      ASSERT_EQ(static_cast<double>(negative), -expected) << pattern;
    }
  }
}

TYPED_TEST(NarrowFormat, gives_every_pattern_back_after_a_round_trip) {
  using T = TypeParam;
  const bool one_nan = std::is_same_v<T, f8e4m3fn> || one_zero<T>;
  const unsigned quiet = one_nan ? 0 : 1U << (Definition<T>::mantissa_bits - 1);
  for (unsigned pattern = 0; pattern < 2 * this->sign; ++pattern) {
    const float wide = widen(from_pattern<T>(pattern));
    const unsigned expected = std::isnan(wide) ? pattern | quiet : pattern;
    ASSERT_EQ(narrow<T>(wide).bits, expected);
    ASSERT_EQ(narrow<T>(static_cast<double>(wide)).bits, expected);
    ASSERT_EQ(narrow_stochastic<T>(wide, 0xffffffff).bits, expected);
    ASSERT_EQ(narrow_stochastic<T>(wide, 0).bits, expected);
  }
}

TYPED_TEST(NarrowFormat, rounds_to_nearest_even_in_every_gap) {
  using T = TypeParam;
  const unsigned count = this->finite_count();
  for (unsigned lower = 0; lower + 1 < count; ++lower) {
    const double low = defined_value<T>(lower), high = defined_value<T>(lower + 1);
    this->template check_gap<float>(lower, low, high);
    this->template check_gap<double>(lower, low, high);
  }
}

TYPED_TEST(NarrowFormat, overflows_from_half_a_step_above_the_largest) {
  using T = TypeParam;
  if constexpr (std::is_same_v<T, f4e2m1>) GTEST_SKIP() << "f4e2m1 saturates, see below";
  const unsigned largest = this->finite_count() - 1;
  const double high = defined_value<T>(largest);
  const double step = high - defined_value<T>(largest - 1);
  this->template check_gap<float>(largest, high, high + step);
  this->template check_gap<double>(largest, high, high + step);
  const unsigned overflow = largest + 1;  // infinity; in E4M3 the NaN
  for (const double beyond : {high + step, 2 * high, 1e300, HUGE_VAL}) {
    this->expect_rounds_to(beyond, overflow);
    this->expect_rounds_to(static_cast<float>(beyond), overflow);
  }
}

TYPED_TEST(NarrowFormat, keeps_sign_and_leading_payload_of_nans) {
  using T = TypeParam;
  if constexpr (std::is_same_v<T, f4e2m1>) GTEST_SKIP() << "f4e2m1 has no NaN, see below";
  if constexpr (one_zero<T>) GTEST_SKIP() << "there is one NaN, see below";
  using D = Definition<T>;
  const unsigned quiet = std::is_same_v<T, f8e4m3fn>
                             ? 0x7f
                             : ((1U << (D::exponent_bits + 1)) - 1) << (D::mantissa_bits - 1);
  for (const std::uint32_t bits : {0x7fc00000U, 0x7f800001U, 0xffc00000U, 0xff800001U}) {
    const unsigned expected = quiet | (bits >> 31 ? this->sign : 0);
    EXPECT_EQ(narrow<T>(std::bit_cast<float>(bits)).bits, expected) << std::hex << bits;
    const std::uint64_t wide = std::uint64_t{bits & 0x7fffffff} << 29 |
                               (bits >> 31 ? std::uint64_t{0xc} << 60 : std::uint64_t{0x4} << 60);
    EXPECT_EQ(narrow<T>(std::bit_cast<double>(wide | 0x7ff0'0000'0000'0000)).bits, expected)
        << std::hex << bits;
  }
  if constexpr (D::mantissa_bits > 3) {
    const unsigned second_bit = 1U << (D::mantissa_bits - 2);
    EXPECT_EQ(narrow<T>(std::bit_cast<float>(0x7fe00000U)).bits, quiet | second_bit);
  }
}

// A double just beside a tie of the narrow format is that tie in f32: rounding twice would go
// wrong.
TYPED_TEST(NarrowFormat, rounds_doubles_only_once) {
  using T = TypeParam;
  constexpr unsigned even = std::is_same_v<T, f4e2m1> ? 4 : 0x40;
  const double middle = (defined_value<T>(even) + defined_value<T>(even + 1)) / 2;
  const double beside = std::nextafter(middle, HUGE_VAL);
  ASSERT_EQ(static_cast<double>(static_cast<float>(beside)), middle);
  EXPECT_EQ(narrow<T>(beside).bits, even + 1);
  EXPECT_EQ(narrow<T>(static_cast<float>(beside)).bits, even);
}

TYPED_TEST(NarrowFormat, takes_the_smallest_sources_to_zero) {
  using T = TypeParam;
  EXPECT_EQ(narrow<T>(std::numeric_limits<double>::denorm_min()).bits, 0);
  EXPECT_EQ(narrow<T>(-std::numeric_limits<double>::denorm_min()).bits,
            one_zero<T> ? 0 : this->sign);
  EXPECT_EQ(narrow<T>(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(narrow<T>(std::numeric_limits<double>::min()).bits, 0);
}

TYPED_TEST(NarrowFormat, converts_alike_while_denormals_are_flushed) {
  using T = TypeParam;
  const FloatingEnvironment flush(Subnormals::flush);
  for (unsigned pattern = 0; pattern < 2 * this->sign; ++pattern) {
    const float wide = widen(from_pattern<T>(pattern));
    if ((std::bit_cast<std::uint32_t>(wide) & 0x7fffffff) > 0x7f800000) continue;
    ASSERT_EQ(narrow<T>(wide).bits, pattern);
  }
}

TEST(narrow_f4, saturates_and_takes_nan_to_six) {
  for (const float beyond : {6.0F, 6.99F, 7.0F, 1e30F, HUGE_VALF}) {
    EXPECT_EQ(narrow<f4e2m1>(beyond).bits, 0x7) << beyond;
    EXPECT_EQ(narrow<f4e2m1>(-beyond).bits, 0xf) << beyond;
    EXPECT_EQ(narrow<f4e2m1>(static_cast<double>(beyond)).bits, 0x7) << beyond;
  }
  for (const std::uint32_t nan : {0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xffffffffU})
    EXPECT_EQ(narrow<f4e2m1>(std::bit_cast<float>(nan)).bits, 0x7) << std::hex << nan;
  EXPECT_EQ(narrow<f4e2m1>(-std::numeric_limits<double>::quiet_NaN()).bits, 0x7);
}

TEST(narrow_f8e8m0, rounds_to_the_nearest_power_ties_up) {
  for (int exponent = -127; exponent <= 127; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    const auto expected = static_cast<unsigned>(exponent + 127);
    for (const double factor : {0.75, 1.0, 1.25, 1.499}) {
      if (exponent == -127 && factor < 1) continue;
      EXPECT_EQ(narrow<f8e8m0>(power * factor).bits, expected) << power * factor;
      EXPECT_EQ(narrow<f8e8m0>(static_cast<float>(power * factor)).bits, expected);
    }
    EXPECT_EQ(widen(f8e8m0{static_cast<std::uint8_t>(expected)}), power);
  }
  EXPECT_TRUE(std::isnan(widen(f8e8m0{0xff})));
  EXPECT_EQ(narrow<f8e8m0>(1.4999999999999998).bits, 127);  // a tie in f32
  EXPECT_EQ(narrow<f8e8m0>(std::numeric_limits<float>::max()).bits, 0xff);
  EXPECT_EQ(narrow<f8e8m0>(1e300).bits, 0xff);
  for (const float tiny : {0x1p-149F, 0x1.6p-127F, 0x1p-128F})
    EXPECT_EQ(narrow<f8e8m0>(tiny).bits, 0) << tiny;
  EXPECT_EQ(narrow<f8e8m0>(std::numeric_limits<double>::denorm_min()).bits, 0);
  EXPECT_EQ(narrow<f8e8m0>(0x1.8p-127F).bits, 1);
}

TEST(narrow_f8e8m0, makes_nan_of_zero_infinity_and_signs) {
  for (const float value : {0.0F, -0.0F, -1.0F, HUGE_VALF, -HUGE_VALF, NAN, -NAN}) {
    EXPECT_EQ(narrow<f8e8m0>(value).bits, 0xff) << value;
    EXPECT_EQ(narrow<f8e8m0>(static_cast<double>(value)).bits, 0xff) << value;
  }
}

struct PowerCase {
  float value;
  int up, down, nearest;  // patterns
};

// The table of ONNX's Cast; NaN stays NaN and what is negative becomes it.
TEST(narrow_to_power, follows_the_mode_and_saturates_where_asked) {
  for (const auto& [value, up, down, nearest] :
       {PowerCase{1, 127, 127, 127}, PowerCase{1.01F, 128, 127, 127},
        PowerCase{1.5F, 128, 127, 128}, PowerCase{1.99F, 128, 127, 128},
        PowerCase{0x1.01p-127F, 1, 0, 0}})
    for (const bool saturate : {false, true}) {
      EXPECT_EQ(narrow_to_power(value, PowerRounding::up, saturate).bits, up) << value;
      EXPECT_EQ(narrow_to_power(value, PowerRounding::down, saturate).bits, down) << value;
      EXPECT_EQ(narrow_to_power(double{value}, PowerRounding::nearest, saturate).bits, nearest);
    }
  for (const auto& [value, saturated] :
       {std::pair{0.0F, 0}, std::pair{-0.0F, 0}, std::pair{0x1p-130F, 0},
        std::pair{0x1.8p127F, 0xfe}, std::pair{HUGE_VALF, 0xfe}, std::pair{-1.0F, 0xff},
        std::pair{-HUGE_VALF, 0xff}, std::pair{NAN, 0xff}}) {
    EXPECT_EQ(narrow_to_power(value, PowerRounding::up, true).bits, saturated) << value;
    EXPECT_EQ(narrow_to_power(value, PowerRounding::up, false).bits, 0xff) << value;
  }
}

}  // namespace
}  // namespace narrowgauge::values_test
