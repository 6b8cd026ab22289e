// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "narrowgauge/wmma.hpp"
#include "wmma/operands.h"

namespace narrowgauge::test::multiply_test {
namespace {

using wmma::accumulator;
using wmma::bfloat16;
using wmma::col_major;
using wmma::fragment;
using wmma::half;
using wmma::matrix_a;
using wmma::matrix_b;
using wmma::row_major;
using wmma::UnitScope;
using wmma::precision::tf32;

// How nvcc cuts a product into instructions, and what of it is known.
struct Expected {
  UnitModel model;
  bool is_widened = false;  // c to f32, and d from it
};

template <class T, class C, class D>
Expected expected_of(MatrixUnit unit) {
  const bool is_widened = !std::is_same_v<C, D>;
  const UnitFormat sum = is_widened ? UnitFormat::f32 : format_of_element<C>();
  Expected expected{*find_unit_model(unit, format_of_element<T>(), sum), is_widened};
  if (std::is_same_v<T, tf32> && unit < MatrixUnit::amx) expected.model.terms = 4;
  return expected;
}

template <class C, class D>
std::uint64_t expected_bits(const Expected& expected, std::span<const Unpacked> a,
                            std::span<const Unpacked> b, std::uint64_t c) {
  if (expected.is_widened && sizeof(C) == 2)
    c = std::bit_cast<std::uint32_t>(_cvtsh_ss(static_cast<unsigned short>(c)));
  const std::uint64_t bits = dot_product_add(expected.model, a, b, c);
  if (!expected.is_widened || sizeof(D) != 2) return bits;
  const auto sum = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::isnan(sum) ? 0x7fff : _cvtss_sh(sum, _MM_FROUND_TO_NEAREST_INT);
}

// The whole way: memory, fragments, product, memory; against the scalar model on what stands in
// memory. Strides are longer than lines, so that a wrong one is seen.
template <class T, class C, class D, int M, int N, int K, class LayoutA, class LayoutB>
void check_product(MatrixUnit unit, Spread spread, std::mt19937& random) {
  const UnitScope scope(unit);
  constexpr bool a_rows = std::is_same_v<LayoutA, row_major>;
  constexpr bool b_rows = std::is_same_v<LayoutB, row_major>;
  Matrix<T> a(a_rows ? M : K, a_rows ? K : M, 128), b(b_rows ? K : N, b_rows ? N : K, 128);
  Matrix<C> c(M, N, 48);
  Matrix<D> d(N, M, 64);
  a.fill(random, spread), b.fill(random, spread), c.fill(random, spread);

  fragment<matrix_a, M, N, K, T, LayoutA> left;
  fragment<matrix_b, M, N, K, T, LayoutB> right;
  fragment<accumulator, M, N, K, C> start;
  fragment<accumulator, M, N, K, D> result;
  wmma::load_matrix_sync(left, a.data(), a.stride());
  wmma::load_matrix_sync(right, b.data(), b.stride());
  wmma::load_matrix_sync(start, c.data(), c.stride(), wmma::mem_row_major);
  wmma::mma_sync(result, left, right, start);
  wmma::store_matrix_sync(d.data(), result, d.stride(), wmma::mem_col_major);

  const Expected expected = expected_of<T, C, D>(unit);
  std::vector<Unpacked> row(K), column(K);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      for (int k = 0; k < K; ++k) {
        const auto place = static_cast<std::size_t>(k);
        row[place] = unpack(expected.model.operand, a_rows ? a.element(m, k) : a.element(k, m));
        column[place] = unpack(expected.model.operand, b_rows ? b.element(k, n) : b.element(n, k));
      }
      ASSERT_EQ(d.element(n, m), (expected_bits<C, D>(expected, row, column, c.element(m, n))))
          << name(unit) << " " << name(expected.model.operand) << " row " << m << " column " << n;
    }
}

template <class T, class C, class D, int M, int N, int K>
void check_layouts(const std::vector<MatrixUnit>& units) {
  std::mt19937 random(17);
  for (const MatrixUnit unit : units)
    for (const Spread spread : {Spread::any_bits, Spread::finite, Spread::near_one,
                                Spread::cancelling, Spread::vanishing}) {
      check_product<T, C, D, M, N, K, row_major, col_major>(unit, spread, random);
      if constexpr (bits_of_element<T>() >= 8) {
        check_product<T, C, D, M, N, K, col_major, row_major>(unit, spread, random);
        check_product<T, C, D, M, N, K, row_major, row_major>(unit, spread, random);
        check_product<T, C, D, M, N, K, col_major, col_major>(unit, spread, random);
      }
    }
}
template <class T, class C, class D>
void check_large_shapes(const std::vector<MatrixUnit>& units) {
  check_layouts<T, C, D, 16, 16, 16>(units);
  check_layouts<T, C, D, 32, 8, 16>(units);
  check_layouts<T, C, D, 8, 32, 16>(units);
}

using enum MatrixUnit;

TEST(wmma_multiply, halves_give_the_bits_of_the_scalar_model_in_every_shape_layout_and_unit) {
  check_large_shapes<half, float, float>({v100, t4, a100, ada, h100, b200, ieee});
  check_large_shapes<half, half, half>({v100, t4, a100, ada, h100, b200});
}

TEST(wmma_multiply, accumulators_of_two_types_are_added_in_float) {
  check_large_shapes<half, half, float>({t4, a100, h100});
  check_large_shapes<half, float, half>({t4, a100, h100});
}

TEST(wmma_multiply, bfloat16_gives_the_bits_of_the_scalar_model) {
  check_large_shapes<bfloat16, float, float>({a100, ada, h100, b200, amx, avx512_bf16, ieee});
}

TEST(wmma_multiply, tf32_gives_the_bits_of_the_scalar_model_in_sums_of_four) {
  check_layouts<tf32, float, float, 16, 16, 8>({a100, ada, h100, b200, ieee});
}

TEST(wmma_multiply, doubles_are_chains_of_fmas) {
  check_layouts<double, double, double, 8, 8, 4>({a100, h100, ieee});
}

TEST(wmma_multiply, integers_are_exact) {
  check_large_shapes<signed char, int, int>({t4, a100, h100, vnni, amx});
  check_large_shapes<unsigned char, int, int>({t4, a100, h100, vnni, amx});
  check_layouts<packed::s4, int, int, 8, 8, 32>({t4, a100});
  check_layouts<packed::u4, int, int, 8, 8, 32>({t4, a100});
}

// A row of a with 1 and tiny numbers, times a column of ones, in every unit's own way; by hand.
float sum_of(MatrixUnit unit, const std::vector<float>& row) {
  const UnitScope scope(unit);
  fragment<matrix_a, 16, 16, 16, half, row_major> a;
  fragment<matrix_b, 16, 16, 16, half, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  Aligned<half> memory(256, half(0.0F));
  for (std::size_t k = 0; k < row.size(); ++k) memory[k] = half(row[k]);
  wmma::load_matrix_sync(a, memory.data(), 16);
  wmma::fill_fragment(b, half(0x1p-12F));
  wmma::fill_fragment(c, 0.0F);
  wmma::mma_sync(c, a, b, c);
  Aligned<float> result(256);
  wmma::store_matrix_sync(result.data(), c, 16, wmma::mem_row_major);
  return result[0] * 0x1p12F;
}

TEST(wmma_multiply, units_keep_as_many_bits_below_the_largest_product_as_they_have) {
  const std::vector<float> two{1, 0x1p-24F, 0x1p-24F};
  const std::vector<float> four{1, 0x1p-24F, 0x1p-24F, 0, 0, 0, 0, 0, 0x1p-24F, 0x1p-24F};
  const float one = 1, above = 1 + 0x1p-23F;
  EXPECT_EQ(sum_of(v100, two), one);    // 23 bits: both are cut away
  EXPECT_EQ(sum_of(a100, two), above);  // 24 bits: 1 + 2^-23
  EXPECT_EQ(sum_of(h100, two), above);
  EXPECT_EQ(sum_of(ieee, two), one);  // each is half an ulp, and 1 is even
  EXPECT_EQ(sum_of(v100, four), one);
  EXPECT_EQ(sum_of(a100, four), 1 + 0x1p-22F);  // 1 + 2^-23, then as much again
  EXPECT_EQ(sum_of(h100, four), 1 + 0x1p-22F);
  // In halves apart the A100 cuts the sum to f32 between, the H100 adds all 16 products at once.
  const std::vector<float> apart{1, 0x1p-24F, 0, 0, 0, 0, 0, 0, 0x1p-24F};
  EXPECT_EQ(sum_of(a100, apart), one);
  EXPECT_EQ(sum_of(h100, apart), above);
}

TEST(wmma_multiply, tf32_of_an_h100_is_added_in_fours_as_its_instructions_are) {
  const UnitScope scope(h100);
  const auto sum = [](int second, int third) {
    fragment<matrix_a, 16, 16, 8, tf32, row_major> a;
    fragment<matrix_b, 16, 16, 8, tf32, col_major> b;
    fragment<accumulator, 16, 16, 8, float> c;
    Aligned<float> memory(128, 0.0F);
    memory[0] = 1;
    memory[static_cast<std::size_t>(second)] = 0x1p-24F;
    memory[static_cast<std::size_t>(third)] = 0x1p-24F;
    wmma::load_matrix_sync(a, memory.data(), 8);
    wmma::fill_fragment(b, 1.0F);
    wmma::fill_fragment(c, 0.0F);
    wmma::mma_sync(c, a, b, c);
    return c.x[0];
  };
  EXPECT_EQ(sum(1, 2), 1 + 0x1p-23F);
  EXPECT_EQ(sum(1, 4), 1.0F);
}

TEST(wmma_multiply, sums_of_integers_wrap_or_saturate) {
  fragment<matrix_a, 16, 16, 16, signed char, row_major> a;
  fragment<matrix_b, 16, 16, 16, signed char, col_major> b;
  fragment<accumulator, 16, 16, 16, int> c, d;
  wmma::fill_fragment(a, static_cast<signed char>(100));
  for (const int sign : {1, -1}) {
    const int edge = sign > 0 ? std::numeric_limits<int>::max() : std::numeric_limits<int>::min();
    wmma::fill_fragment(b, static_cast<signed char>(100 * sign));
    wmma::fill_fragment(c, edge - sign * 1000);
    wmma::mma_sync(d, a, b, c);
    const std::int64_t sum = std::int64_t{edge} - sign * 1000 + sign * 160'000;
    EXPECT_EQ(d.x[37], static_cast<int>(static_cast<std::uint32_t>(sum)));
    wmma::mma_sync(d, a, b, c, true);
    EXPECT_EQ(d.x[37], edge);
    wmma::fill_fragment(c, 5);
    wmma::mma_sync(d, a, b, c, true);
    EXPECT_EQ(d.x[37], 5 + sign * 160'000);
  }
}

TEST(wmma_multiply, single_bits_are_compared_or_masked) {
  std::mt19937 random(3);
  Matrix<packed::b1> a(8, 128, 256), b(8, 128, 384);
  a.fill(random, Spread::any_bits), b.fill(random, Spread::any_bits);
  fragment<matrix_a, 8, 8, 128, packed::b1, row_major> left;
  fragment<matrix_b, 8, 8, 128, packed::b1, col_major> right;
  fragment<accumulator, 8, 8, 128, int> c, differ, both;
  wmma::load_matrix_sync(left, a.data(), a.stride());
  wmma::load_matrix_sync(right, b.data(), b.stride());
  wmma::fill_fragment(c, -7);
  wmma::bmma_sync(differ, left, right, c);
  wmma::bmma_sync(both, left, right, c, wmma::experimental::bmmaBitOpAND,
                  wmma::experimental::bmmaAccumulateOpPOPC);
  for (int m = 0; m < 8; ++m)
    for (int n = 0; n < 8; ++n) {
      int unlike = -7, ones = -7;
      for (int k = 0; k < 128; ++k) {
        unlike += a.element(m, k) != b.element(n, k);
        ones += a.element(m, k) && b.element(n, k);
      }
      ASSERT_EQ(differ.x[m * 8 + n], unlike);
      ASSERT_EQ(both.x[m * 8 + n], ones);
    }
}

TEST(wmma_multiply, results_may_overwrite_what_they_add) {
  std::mt19937 random(5);
  Matrix<half> a(16, 16, 16), b(16, 16, 16);
  a.fill(random, Spread::near_one), b.fill(random, Spread::near_one);
  fragment<matrix_a, 16, 16, 16, half, row_major> left;
  fragment<matrix_b, 16, 16, 16, half, row_major> right;
  fragment<accumulator, 16, 16, 16, float> c, d;
  wmma::load_matrix_sync(left, a.data(), 16);
  wmma::load_matrix_sync(right, b.data(), 16);
  wmma::fill_fragment(c, 0.5F);
  wmma::mma_sync(d, left, right, c);
  wmma::mma_sync(c, left, right, c);
  for (int i = 0; i < c.num_elements; ++i) ASSERT_EQ(c.x[i], d.x[i]);
}

TEST(wmma_multiply, packed_elements_are_filled_with_their_lowest_bits) {
  fragment<matrix_a, 8, 8, 32, packed::s4, row_major> nibbles;
  wmma::fill_fragment(nibbles, -3);
  EXPECT_EQ(static_cast<unsigned>(nibbles.x[31]), 0xddddddddU);
  fragment<matrix_b, 8, 8, 128, packed::b1, col_major> ones;
  wmma::fill_fragment(ones, 3U);
  EXPECT_EQ(ones.x[31], 0xffffffffU);
  static_assert(ones.num_elements == 1024 && ones.num_storage_elements == 32);
}

std::string refusal(MatrixUnit unit, void (*action)(),
                    wmma::Unresolved unresolved = wmma::Unresolved::refused) {
  const UnitScope scope(unit, unresolved);
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}
template <class T, class C, class D, int M, int N, int K>
void multiply_zeros() {
  fragment<matrix_a, M, N, K, T, row_major> a;
  fragment<matrix_b, M, N, K, T, col_major> b;
  fragment<accumulator, M, N, K, C> c;
  fragment<accumulator, M, N, K, D> d;
  wmma::fill_fragment(a, {}), wmma::fill_fragment(b, {}), wmma::fill_fragment(c, {});
  wmma::mma_sync(d, a, b, c);
}

TEST(wmma_multiply, what_a_unit_has_not_is_refused_by_name) {
  EXPECT_EQ(refusal(v100, multiply_zeros<bfloat16, float, float, 16, 16, 16>),
            "wmma: v100 has no products of bf16 with results in f32");
  EXPECT_NE(refusal(t4, multiply_zeros<tf32, float, float, 16, 16, 8>), "");
  EXPECT_NE(refusal(v100, multiply_zeros<signed char, int, int, 16, 16, 16>), "");
  EXPECT_NE(refusal(ieee, multiply_zeros<half, half, half, 16, 16, 16>), "");
  EXPECT_EQ(refusal(a100, multiply_zeros<half, half, half, 16, 16, 16>), "");
  EXPECT_EQ(refusal(t4,
                    [] {
                      fragment<matrix_a, 8, 8, 128, packed::b1, row_major> a;
                      fragment<matrix_b, 8, 8, 128, packed::b1, col_major> b;
                      fragment<accumulator, 8, 8, 128, int> c;
                      wmma::bmma_sync(c, a, b, c, wmma::experimental::bmmaBitOpAND);
                    }),
            "wmma: t4 has no bmma_sync with bmmaBitOpAND");
}

TEST(wmma_multiply, what_nobody_measured_needs_the_flag) {
  const auto mixed = multiply_zeros<half, half, float, 16, 16, 16>;
  EXPECT_NE(refusal(v100, mixed).find("Unresolved::allowed"), std::string::npos);
  EXPECT_EQ(refusal(v100, mixed, wmma::Unresolved::allowed), "");
}

TEST(wmma_multiply, packed_elements_are_emulated_where_the_unit_has_them_no_more) {
  EXPECT_EQ(refusal(h100, multiply_zeros<packed::s4, int, int, 8, 8, 32>), "");
  EXPECT_EQ(refusal(b200, multiply_zeros<packed::u4, int, int, 8, 8, 32>), "");
}

TEST(wmma_multiply, memory_that_a_gpu_could_not_read_is_refused) {
  Aligned<half> memory(1024, half(0.0F));
  fragment<matrix_a, 16, 16, 16, half, row_major> a;
  EXPECT_NO_THROW(wmma::load_matrix_sync(a, memory.data() + 16, 24));
  EXPECT_THROW(wmma::load_matrix_sync(a, memory.data() + 8, 24), std::invalid_argument);
  EXPECT_THROW(wmma::load_matrix_sync(a, memory.data(), 20), std::invalid_argument);
}

TEST(wmma_unit, a_scope_covers_one_thread_and_ends_with_its_block) {
  EXPECT_EQ(wmma::executing_unit(), a100);
  {
    const UnitScope scope(h100);
    EXPECT_EQ(wmma::executing_unit(), h100);
    wmma::use_unit(v100);
    EXPECT_EQ(wmma::executing_unit(), h100);
  }
  EXPECT_EQ(wmma::executing_unit(), v100);
  wmma::use_unit(a100);
}

TEST(wmma_numbers, halves_convert_as_the_cpu_converts_them) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const half value = wmma::half_from_bits(static_cast<std::uint16_t>(bits));
    const float wide = _cvtsh_ss(static_cast<unsigned short>(bits));
    if (std::isnan(wide)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(value)));
      ASSERT_EQ(wmma::bits_of(half(wide)), 0x7fff);
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(value)),
              std::bit_cast<std::uint32_t>(wide));
    // Around the value, and around the middle between it and the next.
    for (const unsigned offset : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x1fffU}) {
      const auto near = std::bit_cast<float>(std::bit_cast<std::uint32_t>(wide) + offset);
      if (std::isnan(near)) continue;
      ASSERT_EQ(wmma::bits_of(half(near)), _cvtss_sh(near, _MM_FROUND_TO_NEAREST_INT)) << near;
    }
  }
}

TEST(wmma_numbers, floats_round_to_bfloat16_and_tf32) {
  std::mt19937 random(11);
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) {
      ASSERT_EQ(wmma::bits_of(bfloat16(value)), 0x7fff);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wmma::__float_to_tf32(value)), 0x7fffffffU);
      continue;
    }
    const auto nearest_even = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    ASSERT_EQ(wmma::bits_of(bfloat16(value)), nearest_even) << value;
    int exponent = 0;
    const double fraction = std::frexp(static_cast<double>(value), &exponent);
    exponent = std::max(exponent, -125);
    if (std::isinf(value)) continue;
    const double unit = std::ldexp(1.0, exponent - 11);
    const double rounded = std::round(static_cast<double>(value) / unit) * unit;  // ties away
    ASSERT_EQ(wmma::__float_to_tf32(value), static_cast<float>(rounded)) << fraction;
  }
}

TEST(wmma_numbers, arithmetic_of_halves_rounds_once) {
  EXPECT_EQ(static_cast<float>(half(1.0F) + half(0x1p-11F)), 1.0F);
  EXPECT_EQ(static_cast<float>(half(3.0F) * half(-0.5F)), -1.5F);
  EXPECT_EQ(static_cast<float>(-half(3.0F) / half(2)), -1.5F);
  EXPECT_EQ(static_cast<float>(bfloat16(257.0) - bfloat16(1.0F)), 255.0F);
}

}  // namespace
}  // namespace narrowgauge::test::multiply_test
