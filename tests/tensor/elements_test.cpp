// SPDX-License-Identifier: Apache-2.0
// Single elements of any dtype, through double.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/machine/floating_environment.h"
#include "tensor/values.h"

namespace narrowgauge::elements_test {
namespace {

double stored(DType dtype, double value) {
  std::array<std::byte, 16> bytes{};
  store_element(dtype, bytes.data(), 1, value);
  return load_element(dtype, bytes.data(), 1);
}

TEST(elements, saturate_integers_and_round_their_halves_to_even) {
  struct Case {
    DType dtype;
    double low, high;
  };
  for (const auto& [dtype, low, high] :
       {Case{DType::i32, -2147483648.0, 2147483647.0}, Case{DType::i16, -32768, 32767},
        Case{DType::i8, -128, 127}, Case{DType::u8, 0, 255}, Case{DType::i4, -8, 7},
        Case{DType::u4, 0, 15}, Case{DType::i64, -0x1p63, 0x1p63}, Case{DType::u64, 0, 0x1p64},
        Case{DType::u32, 0, 4294967295.0}, Case{DType::u16, 0, 65535}}) {
    SCOPED_TRACE(name(dtype));
    for (const double huge : {high + 1, 2 * high, 1e300, HUGE_VAL}) {
      EXPECT_EQ(stored(dtype, huge), high);
      EXPECT_EQ(stored(dtype, -huge), low);
    }
    for (const double value : {low, high, 0.0, 1.0}) EXPECT_EQ(stored(dtype, value), value);
    EXPECT_EQ(stored(dtype, NAN), 0);
    EXPECT_EQ(stored(dtype, 2.5), 2);
    EXPECT_EQ(stored(dtype, 3.5), 4);
    EXPECT_EQ(stored(dtype, 0.49999999999999994), 0);  // adding 0.5 would give 1
    EXPECT_EQ(stored(dtype, -2.5), low < 0 ? -2 : 0);
    EXPECT_EQ(stored(dtype, -3.5), low < 0 ? -4 : 0);
    EXPECT_EQ(stored(dtype, -0.5), 0);
  }
}

TEST(elements, reach_both_ends_of_int64) {
  std::int64_t value = 0;
  store_element(DType::i64, &value, 0, 1e30);
  EXPECT_EQ(value, std::numeric_limits<std::int64_t>::max());
  store_element(DType::i64, &value, 0, -1e30);
  EXPECT_EQ(value, std::numeric_limits<std::int64_t>::min());
  store_element(DType::i64, &value, 0, 0x1p62);
  EXPECT_EQ(value, std::int64_t{1} << 62);
}

TEST(elements, of_two_bits_keep_their_halves_and_saturate) {
  for (const double value : {-2.0, -1.0, 0.0, 1.0}) EXPECT_EQ(stored(DType::i2, value), value);
  for (const double value : {0.0, 1.0, 2.0, 3.0}) EXPECT_EQ(stored(DType::u2, value), value);
  EXPECT_EQ(stored(DType::i2, 1.5), 1);
  EXPECT_EQ(stored(DType::i2, -1.5), -2);
  EXPECT_EQ(stored(DType::i2, -9), -2);
  EXPECT_EQ(stored(DType::u2, 2.5), 2);
  EXPECT_EQ(stored(DType::u2, 9), 3);
  EXPECT_EQ(stored(DType::u2, -9), 0);
  EXPECT_EQ(stored(DType::u2, NAN), 0);
}

TEST(elements, reach_both_ends_of_uint64) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 1;
  store_element(DType::u64, &value, 0, 1e30);
  EXPECT_EQ(value, most);
  EXPECT_EQ(load_element(DType::u64, &value, 0), 0x1p64);
  EXPECT_TRUE(load_whole(DType::u64, &value, 0) == most);
  store_element(DType::u64, &value, 0, -1e30);
  EXPECT_EQ(value, 0U);
  store_element(DType::u64, &value, 0, 0x1p63);
  EXPECT_EQ(value, std::uint64_t{1} << 63);
}

TEST(elements, whole_numbers_are_exact_and_saturate) {
  constexpr std::int64_t odd = (std::int64_t{1} << 62) + 1;
  std::array<std::int64_t, 2> numbers{};
  store_whole(DType::i64, numbers.data(), 1, odd);
  EXPECT_EQ(numbers[1], odd);
  EXPECT_TRUE(load_whole(DType::i64, numbers.data(), 1) == odd);
  store_whole(DType::i64, numbers.data(), 1, WideInteger{odd} * 4);
  EXPECT_EQ(numbers[1], std::numeric_limits<std::int64_t>::max());
  std::uint8_t byte = 1;
  store_whole(DType::u8, &byte, 0, -5);
  EXPECT_EQ(byte, 0);
  store_whole(DType::boolean, &byte, 0, odd - 1);
  EXPECT_EQ(byte, 1);
  const std::array<float, 3> floats{-2.9F, NAN, 1e30F};
  EXPECT_TRUE(load_whole(DType::f32, floats.data(), 0) == -2);
  EXPECT_TRUE(load_whole(DType::f32, floats.data(), 1) == 0);
  EXPECT_TRUE(load_whole(DType::f32, floats.data(), 2) == static_cast<WideInteger>(1e30F));
}

TEST(elements, wrap_around_to_the_low_bits_of_their_dtype) {
  EXPECT_TRUE(wrapped(200, DType::i8) == -56);
  EXPECT_TRUE(wrapped(-1, DType::u16) == 65535);
  EXPECT_TRUE(wrapped(-1, DType::u64) == std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(wrapped(WideInteger{1} << 63, DType::i64) ==
              std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(wrapped(2, DType::i2) == -2);
  EXPECT_TRUE(wrapped(7, DType::u2) == 3);
  EXPECT_TRUE(wrapped(7, DType::boolean) == 7);
}

TEST(elements, take_truth_from_anything_but_zero) {
  for (const DType dtype : {DType::boolean, DType::b1}) {
    for (const double value : {1.0, -3.0, 1e-300, HUGE_VAL, double{NAN}})
      EXPECT_EQ(stored(dtype, value), 1);
    EXPECT_EQ(stored(dtype, 0.0), 0);
    EXPECT_EQ(stored(dtype, -0.0), 0);
  }
}

TEST(elements, keep_every_floating_value_of_their_format) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3fn,
                            DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz, DType::f4e2m1}) {
    SCOPED_TRACE(name(dtype));
    for (const double value : {largest_finite(dtype), smallest_normal(dtype),
                               smallest_subnormal(dtype), 1.0, -1.5, 0.0}) {
      EXPECT_EQ(stored(dtype, value), value);
      EXPECT_EQ(stored(dtype, -value), -value);
    }
    const bool one_zero = dtype == DType::f8e4m3fnuz || dtype == DType::f8e5m2fnuz;
    EXPECT_EQ(std::signbit(stored(dtype, -0.0)), !one_zero);
    if (dtype == DType::f4e2m1) {
      EXPECT_EQ(stored(dtype, NAN), 6);
      EXPECT_EQ(stored(dtype, -HUGE_VAL), -6);
      continue;
    }
    EXPECT_TRUE(std::isnan(stored(dtype, NAN)));
    const double infinite = stored(dtype, HUGE_VAL);
    EXPECT_TRUE(dtype == DType::f8e4m3fn || one_zero ? std::isnan(infinite) : std::isinf(infinite));
  }
}

TEST(elements, of_powers_of_two_have_neither_sign_nor_zero) {
  for (int exponent = -127; exponent <= 127; ++exponent)
    EXPECT_EQ(stored(DType::f8e8m0, std::ldexp(1.0, exponent)), std::ldexp(1.0, exponent));
  for (const double value : {0.0, -0.0, -1.0, HUGE_VAL, -HUGE_VAL, double{NAN}, 0x1.8p127})
    EXPECT_TRUE(std::isnan(stored(DType::f8e8m0, value))) << value;
  const std::uint8_t zero_bits = 0;
  const FloatingEnvironment flush(Subnormals::flush);
  EXPECT_EQ(load_element(DType::f8e8m0, &zero_bits, 0), 0x1p-127);
}

TEST(elements, pack_small_ones_low_bits_first) {
  std::array<std::uint8_t, 2> bytes{};
  const std::array<double, 4> four{-8, 7, -1, 3};
  for (std::int64_t i = 0; i < 4; ++i)
    store_element(DType::i4, bytes.data(), i, four[static_cast<std::size_t>(i)]);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 2>{0x78, 0x3f}));
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(load_element(DType::i4, bytes.data(), i), four[static_cast<std::size_t>(i)]);
  EXPECT_EQ(load_element(DType::u4, bytes.data(), 0), 8);
  const std::array<double, 4> floats{0.5, -6, 3, -0.5};
  for (std::int64_t i = 0; i < 4; ++i)
    store_element(DType::f4e2m1, bytes.data(), i, floats[static_cast<std::size_t>(i)]);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 2>{0xf1, 0x95}));
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(load_element(DType::f4e2m1, bytes.data(), i), floats[static_cast<std::size_t>(i)]);

  bytes = {};
  const std::array<double, 4> crumbs{-2, 1, -1, 0};
  for (std::int64_t i = 0; i < 4; ++i)
    store_element(DType::i2, bytes.data(), i, crumbs[static_cast<std::size_t>(i)]);
  EXPECT_EQ(bytes[0], 0x36);
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(load_element(DType::i2, bytes.data(), i), crumbs[static_cast<std::size_t>(i)]);
  EXPECT_EQ(load_element(DType::u2, bytes.data(), 2), 3);
  copy_element(2, bytes.data(), 2, bytes.data(), 5);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 2>{0x36, 0x0c}));

  bytes = {0xff, 0xff};
  store_element(DType::b1, bytes.data(), 3, 0);
  store_element(DType::b1, bytes.data(), 8, 0);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 2>{0xf7, 0xfe}));
  EXPECT_EQ(load_element(DType::b1, bytes.data(), 3), 0);
  EXPECT_EQ(load_element(DType::b1, bytes.data(), 9), 1);
}

// The CPU rounds an integer to f32 once; through double it would be twice.
TEST(convert_elements, rounds_int64_to_floats_once) {
  std::uint64_t state = 7;
  int differs_through_double = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    // Ties of f32's 24 bits, and their neighbours.
    const std::uint64_t tie = (state >> 40 | 0x800000) << 39 | std::uint64_t{1} << 38;
    const auto value = static_cast<std::int64_t>(tie + state % 3 - 1) * (state & 4 ? 1 : -1);
    float converted = 0;
    convert_elements(DType::i64, &value, DType::f32, &converted, 1);
    ASSERT_EQ(converted, static_cast<float>(value)) << value;
    differs_through_double += converted != static_cast<float>(static_cast<double>(value));
  }
  EXPECT_GT(differs_through_double, 1000);
  bf16 narrow_value;
  const std::int64_t beside = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  convert_elements(DType::i64, &beside, DType::bf16, &narrow_value, 1);
  EXPECT_EQ(widen(narrow_value), 0x1.02p62F);
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
        std::int64_t{0}, std::int64_t{-1}}) {
    float converted = 0;
    convert_elements(DType::i64, &value, DType::f32, &converted, 1);
    EXPECT_EQ(converted, static_cast<float>(value));
  }
}

TEST(convert_elements, is_exact_between_the_widest_integers) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::array<std::uint64_t, 3> numbers{(std::uint64_t{1} << 62) + 1, most, 0};
  std::array<std::int64_t, 3> converted{};
  convert_elements(DType::u64, numbers.data(), DType::i64, converted.data(), 3);
  EXPECT_EQ(converted, (std::array<std::int64_t, 3>{(std::int64_t{1} << 62) + 1,
                                                    std::numeric_limits<std::int64_t>::max(), 0}));
  const std::array<std::int64_t, 2> negative{-1, (std::int64_t{1} << 53) + 1};
  std::array<std::uint64_t, 2> back{};
  convert_elements(DType::i64, negative.data(), DType::u64, back.data(), 2);
  EXPECT_EQ(back, (std::array<std::uint64_t, 2>{0, (std::uint64_t{1} << 53) + 1}));
  const std::uint64_t tie = (std::uint64_t{1} << 63) + (std::uint64_t{1} << 39) + 1;
  float rounded = 0;
  convert_elements(DType::u64, &tie, DType::f32, &rounded, 1);
  EXPECT_EQ(rounded, 0x1.000002p63F);
}

TEST(convert_elements, agrees_with_storing_what_was_loaded) {
  const std::vector<double> numbers{0, 1, -1, 2.5, 3.7, -7.2, 300, 1e-6, 70000, 1e20};
  const auto count = static_cast<std::int64_t>(numbers.size());
  for (int from = 0; from < dtype_count; ++from)
    for (int to = 0; to < dtype_count; ++to) {
      const auto source_type = static_cast<DType>(from), target_type = static_cast<DType>(to);
      std::vector<std::byte> source(100), target(100), expected(100);
      for (std::int64_t i = 0; i < count; ++i) {
        store_element(source_type, source.data(), i, numbers[static_cast<std::size_t>(i)]);
        store_element(target_type, expected.data(), i, load_element(source_type, source.data(), i));
      }
      if (is_integer(source_type) && bits(source_type) == 64)
        continue;  // large ones differ: see above
      convert_elements(source_type, source.data(), target_type, target.data(), count);
      EXPECT_EQ(target, expected) << name(source_type) << " to " << name(target_type);
    }
}

}  // namespace
}  // namespace narrowgauge::elements_test
