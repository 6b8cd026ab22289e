// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/dtype.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "narrowgauge/error.h"
#include "tensor/values.h"

namespace narrowgauge::dtype_test {
namespace {

DType at(int i) { return static_cast<DType>(i); }

TEST(dtype, has_a_name_that_parses_back) {
  std::set<std::string> names;
  for (int i = 0; i < dtype_count; ++i) {
    EXPECT_EQ(parse_dtype(name(at(i))), at(i));
    names.emplace(name(at(i)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(dtype_count));
  for (const char* wrong : {"", "tf32", "F32", "f32 ", "float", "boolean"})
    EXPECT_EQ(parse_dtype(wrong), std::nullopt) << wrong;
}

TEST(dtype, knows_its_bits_and_kind) {
  EXPECT_EQ(bits(DType::f64), 64);
  EXPECT_EQ(bits(DType::bf16), 16);
  EXPECT_EQ(bits(DType::f8e5m2), 8);
  EXPECT_EQ(bits(DType::f8e4m3fnuz), 8);
  EXPECT_EQ(bits(DType::u64), 64);
  EXPECT_EQ(bits(DType::u32), 32);
  EXPECT_EQ(bits(DType::u16), 16);
  EXPECT_EQ(bits(DType::u4), 4);
  EXPECT_EQ(bits(DType::i2), 2);
  EXPECT_EQ(bits(DType::f4e2m1), 4);
  EXPECT_EQ(bits(DType::f8e8m0), 8);
  EXPECT_EQ(bits(DType::b1), 1);
  EXPECT_EQ(bits(DType::boolean), 8);
  for (int i = 0; i < dtype_count; ++i) {
    EXPECT_EQ(is_floating(at(i)), at(i) <= DType::f8e8m0);
    EXPECT_EQ(is_integer(at(i)), at(i) >= DType::i64 && at(i) <= DType::u2);
    EXPECT_EQ(is_unsigned(at(i)), name(at(i))[0] == 'u');
    EXPECT_EQ(is_storage_only(at(i)), at(i) == DType::f4e2m1 || at(i) == DType::f8e8m0);
  }
}

TEST(dtype, packs_small_elements_into_bytes) {
  EXPECT_EQ(bytes_for(3, DType::i4), 2);
  EXPECT_EQ(bytes_for(5, DType::f4e2m1), 3);
  EXPECT_EQ(bytes_for(4, DType::i2), 1);
  EXPECT_EQ(bytes_for(5, DType::u2), 2);
  EXPECT_EQ(bytes_for(8, DType::b1), 1);
  EXPECT_EQ(bytes_for(9, DType::b1), 2);
  EXPECT_EQ(bytes_for(0, DType::f32), 0);
  EXPECT_EQ(bytes_for(5, DType::f64), 40);
}

template <class T>
void expect_extremes(DType dtype, unsigned largest, unsigned normal) {
  const auto value = [](unsigned pattern) {
    return static_cast<double>(widen(T{static_cast<decltype(T::bits)>(pattern)}));
  };
  EXPECT_EQ(largest_finite(dtype), value(largest));
  EXPECT_EQ(smallest_normal(dtype), value(normal));
  EXPECT_EQ(smallest_subnormal(dtype), value(1));
}

TEST(dtype, knows_its_extremes) {
  expect_extremes<f16>(DType::f16, 0x7bff, 0x0400);
  expect_extremes<bf16>(DType::bf16, 0x7f7f, 0x0080);
  expect_extremes<f8e4m3fn>(DType::f8e4m3fn, 0x7e, 0x08);
  expect_extremes<f8e5m2>(DType::f8e5m2, 0x7b, 0x04);
  expect_extremes<f8e4m3fnuz>(DType::f8e4m3fnuz, 0x7f, 0x08);
  expect_extremes<f8e5m2fnuz>(DType::f8e5m2fnuz, 0x7f, 0x04);
  expect_extremes<f4e2m1>(DType::f4e2m1, 0x7, 0x2);
  EXPECT_EQ(largest_finite(DType::f8e8m0), widen(f8e8m0{0xfe}));
  EXPECT_EQ(smallest_normal(DType::f8e8m0), widen(f8e8m0{0}));
  EXPECT_EQ(smallest_subnormal(DType::f8e8m0), smallest_normal(DType::f8e8m0));
  EXPECT_EQ(largest_finite(DType::f32), std::numeric_limits<float>::max());
  EXPECT_EQ(smallest_normal(DType::f32), std::numeric_limits<float>::min());
  EXPECT_EQ(smallest_subnormal(DType::f32), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(largest_finite(DType::f64), std::numeric_limits<double>::max());
  EXPECT_EQ(smallest_normal(DType::f64), std::numeric_limits<double>::min());
  EXPECT_EQ(smallest_subnormal(DType::f64), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(largest_finite(DType::u4), 15);
  EXPECT_EQ(largest_finite(DType::i2), 1);
  EXPECT_EQ(largest_finite(DType::u2), 3);
  EXPECT_EQ(largest_finite(DType::u32), 4294967295.0);
  EXPECT_EQ(static_cast<std::uint64_t>(largest_finite(DType::u64)),
            std::numeric_limits<std::uint64_t>::max() - 2047);
  EXPECT_EQ(largest_finite(DType::i8), 127);
  EXPECT_EQ(static_cast<std::int64_t>(largest_finite(DType::i64)),
            std::numeric_limits<std::int64_t>::max() - 1023);
  EXPECT_THROW(smallest_normal(DType::i32), UsageError);
  EXPECT_THROW(smallest_subnormal(DType::boolean), UsageError);
}

}  // namespace
}  // namespace narrowgauge::dtype_test
