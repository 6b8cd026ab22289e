// SPDX-License-Identifier: Apache-2.0
// Row conversions against tensor/values.h, bit for bit, with and without flush-to-zero.
#include "kernels/cpu/convert/convert.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "base/machine/cpu.h"
#include "kernels/cpu/convert/convert_rows.h"
#include "narrowgauge/tensor.h"
#include "tensor/values.h"

namespace narrowgauge::cpu::convert_test {
namespace {

class Flush {
 public:
  explicit Flush(bool on) : saved_(_mm_getcsr()) {
    if (on) _mm_setcsr(saved_ | 0x8040);
  }
  ~Flush() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
};

std::vector<float> interesting_floats() {
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (std::uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      values.push_back(std::bit_cast<float>(high << 16 | low));
  for (std::uint32_t bits = 1; bits < 0x02000000; bits = bits * 3 / 2 + 1)
    values.push_back(std::bit_cast<float>(bits));
  std::uint32_t state = 1;
  for (int i = 0; i < 200000; ++i)
    values.push_back(std::bit_cast<float>(state = state * 1664525U + 1013904223U));
  return values;
}

template <class Narrow>
void expect_every_pattern_widens(bool flush) {
  using Bits = decltype(Narrow::bits);
  std::vector<Narrow> in(std::size_t{1} << (8 * sizeof(Bits)));
  for (std::size_t i = 0; i < in.size(); ++i) in[i].bits = static_cast<Bits>(i);
  std::vector<float> out(in.size());
  {
    const Flush scope(flush);
    widen_row(dtype_of<Narrow>::value, in.data(), out.data(), static_cast<std::int64_t>(in.size()));
  }
  for (std::size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(widen(in[i])))
        << "pattern " << i;
}

template <class Narrow>
void expect_floats_narrow(bool flush) {
  const std::vector<float> in = interesting_floats();
  std::vector<Narrow> out(in.size());
  std::int64_t flushed = 5, expected_flushed = 5;
  {
    const Flush scope(flush);
    narrow_row(in.data(), dtype_of<Narrow>::value, out.data(), static_cast<std::int64_t>(in.size()),
               &flushed);
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Narrow expected = narrow<Narrow>(in[i]);
    ASSERT_EQ(out[i].bits, expected.bits) << "from bits " << std::bit_cast<std::uint32_t>(in[i]);
    if (in[i] != 0 && widen(expected) == 0) ++expected_flushed;
  }
  EXPECT_EQ(flushed, expected_flushed);
}

TEST(convert, widens_every_pattern_like_the_scalar_conversion) {
  for (bool flush : {false, true}) {
    expect_every_pattern_widens<f16>(flush);
    expect_every_pattern_widens<bf16>(flush);
    expect_every_pattern_widens<f8e4m3fn>(flush);
    expect_every_pattern_widens<f8e5m2>(flush);
    expect_every_pattern_widens<f8e4m3fnuz>(flush);
    expect_every_pattern_widens<f8e5m2fnuz>(flush);
    expect_every_pattern_widens<f8e8m0>(flush);
  }
}

TEST(convert, narrows_like_the_scalar_conversion_and_counts_what_becomes_zero) {
  for (bool flush : {false, true}) {
    expect_floats_narrow<f16>(flush);
    expect_floats_narrow<bf16>(flush);
    expect_floats_narrow<f8e4m3fn>(flush);
    expect_floats_narrow<f8e5m2>(flush);
    expect_floats_narrow<f8e4m3fnuz>(flush);
    expect_floats_narrow<f8e5m2fnuz>(flush);
  }
}

TEST(convert, avx512_version_equals_the_chosen_one) {
  if (detected_isa() < Isa::avx512) GTEST_SKIP() << "no AVX-512 here";
  const std::vector<float> in = interesting_floats();
  const auto count = static_cast<std::int64_t>(in.size());
  for (DType dtype : {DType::f16, DType::bf16}) {
    std::vector<std::uint16_t> chosen(in.size()), wide(in.size());
    std::int64_t flushed = 0;
    narrow_row(in.data(), dtype, chosen.data(), count, &flushed);
    const RowConversions& rows = avx512::row_conversions;
    const auto narrow = dtype == DType::f16 ? rows.narrow_f16 : rows.narrow_bf16;
    EXPECT_EQ(narrow(in.data(), wide.data(), count), flushed);
    EXPECT_EQ(chosen, wide);
    std::vector<float> from_chosen(in.size()), from_wide(in.size());
    widen_row(dtype, chosen.data(), from_chosen.data(), count);
    const auto widen = dtype == DType::f16 ? rows.widen_f16 : rows.widen_bf16;
    widen(wide.data(), from_wide.data(), count);
    EXPECT_EQ(std::memcmp(from_chosen.data(), from_wide.data(), in.size() * sizeof(float)), 0);
  }
}

TEST(convert, rows_of_any_length_touch_nothing_else) {
  std::vector<float> in(40);
  std::iota(in.begin(), in.end(), 1.0F);
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3fn, DType::i8}) {
    const int bytes = bits(dtype) / 8;
    for (int count = 0; count <= 40; ++count) {
      std::vector<std::uint8_t> out(static_cast<std::size_t>(41 * bytes), 0xa5);
      narrow_row(in.data(), dtype, out.data(), count);
      for (auto i = static_cast<std::size_t>(count * bytes); i < out.size(); ++i)
        ASSERT_EQ(out[i], 0xa5) << name(dtype) << ' ' << count;
      std::vector<float> back(41, -7.0F);
      widen_row(dtype, out.data(), back.data(), count);
      for (int i = 0; i < count; ++i) {
        if (dtype == DType::f8e4m3fn && i > 15) break;  // 17 has five significant bits
        ASSERT_EQ(back[static_cast<std::size_t>(i)], in[static_cast<std::size_t>(i)]);
      }
      ASSERT_EQ(back[static_cast<std::size_t>(count)], -7.0F) << name(dtype) << ' ' << count;
    }
  }
}

TEST(convert, powers_and_packed_floats_agree_with_single_elements) {
  const std::vector<float> in = interesting_floats();
  for (const std::int64_t count : {std::ssize(in), std::ssize(in) - 1})
    for (const DType dtype : {DType::f4e2m1, DType::f8e8m0}) {
      std::vector<std::uint8_t> out(in.size(), 0xa5), expected(in.size(), 0xa5);
      std::vector<float> wide(in.size() + 1, -7.0F);
      std::int64_t flushed = 0, zeros = 0;
      {
        const Flush scope(true);
        narrow_row(in.data(), dtype, out.data(), count, &flushed);
        widen_row(dtype, out.data(), wide.data(), count);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const float value = in[static_cast<std::size_t>(i)];
        store_element(dtype, expected.data(), i, value);
        const auto stored = static_cast<float>(load_element(dtype, expected.data(), i));
        zeros += value != 0 && stored == 0;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[static_cast<std::size_t>(i)]),
                  std::bit_cast<std::uint32_t>(stored))
            << name(dtype) << ' ' << value;
      }
      EXPECT_EQ(out, expected) << name(dtype);
      EXPECT_EQ(flushed, zeros) << name(dtype);
      EXPECT_EQ(wide[static_cast<std::size_t>(count)], -7.0F);
    }
}

TEST(convert, integers_and_booleans_agree_with_single_elements) {
  const std::vector<float> in = interesting_floats();
  for (DType dtype : {DType::f64, DType::i64, DType::i32, DType::i16, DType::i8, DType::u64,
                      DType::u32, DType::u16, DType::u8, DType::i4, DType::u4, DType::i2, DType::u2,
                      DType::b1, DType::boolean}) {
    const auto count = static_cast<std::int64_t>(in.size());
    std::vector<std::uint8_t> out(in.size() * 8 + 8), expected(out.size());
    {
      const Flush scope(true);
      narrow_row(in.data(), dtype, out.data(), count);
    }
    for (std::int64_t i = 0; i < count; ++i)
      store_element(dtype, expected.data(), i, in[static_cast<std::size_t>(i)]);
    EXPECT_EQ(out, expected) << name(dtype);
    std::vector<float> wide(in.size());
    {
      const Flush scope(true);
      widen_row(dtype, out.data(), wide.data(), count);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = load_element(dtype, out.data(), i);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[static_cast<std::size_t>(i)]),
                std::bit_cast<std::uint32_t>(narrow<float>(value)))
          << name(dtype) << ' ' << value;
    }
  }
}

}  // namespace
}  // namespace narrowgauge::cpu::convert_test
