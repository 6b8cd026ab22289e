// SPDX-License-Identifier: Apache-2.0
// d = a b + c on the host, bit by bit as the chosen unit computes it.
//
// The order follows what nvcc 13 makes of wmma, read from its machine code: f16 and bf16 are one
// HMMA of 16 products; tf32 is two of 4 products on every GPU (so the deeper sums of H100 and B200
// are unused); in products of f16 whose accumulators differ, c is widened to f32 and d rounded from
// f32 to nearest even. From sm_90 on the compiler emulates s4, u4 and b1.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "narrowgauge/matrix_unit_arithmetic.h"
#include "narrowgauge/wmma/cut_sums.h"
#include "narrowgauge/wmma/fragment.h"
#include "narrowgauge/wmma/unit.h"

namespace narrowgauge::wmma {
inline namespace on_host {

namespace product {

inline bool is_emulated(MatrixUnit unit, UnitFormat operand) {
  const bool is_new = unit == MatrixUnit::h100 || unit == MatrixUnit::b200;
  return is_new && operand >= UnitFormat::s4 && operand <= UnitFormat::b1;
}

// wgmma and tcgen05 are no part of wmma: it is mma.sync, with which they share all formats of wmma.
inline UnitChoice current_choice() {
  UnitChoice choice = unit::choice();
  if (choice.unit == MatrixUnit::h100_mma) choice.unit = MatrixUnit::h100;
  if (choice.unit == MatrixUnit::b200_mma) choice.unit = MatrixUnit::b200;
  return choice;
}

// The model of the chosen unit; std::invalid_argument if it has none or nobody measured it.
inline UnitModel model_of(UnitFormat operand, UnitFormat result, bool is_measured = true) {
  const UnitChoice choice = current_choice();
  const UnitModel* found = find_unit_model(choice.unit, operand, result);
  if (!found && is_emulated(choice.unit, operand))
    found = find_unit_model(MatrixUnit::a100, operand, result);
  const auto what = std::string(name(operand)) + " with results in " + std::string(name(result));
  if (!found) unit::refuse(choice.unit, "has no products of " + what);
  const bool is_open = found->evidence == Evidence::unresolved || !is_measured;
  if (is_open && choice.unresolved == Unresolved::refused)
    unit::refuse(choice.unit,
                 "has no measured model for this product of " + what + "; Unresolved::allowed");
  return *found;
}

template <class S>
std::uint64_t bits_in(S value) {
  if constexpr (requires { value.bits; })
    return value.bits;
  else if constexpr (std::same_as<S, float>)
    return std::bit_cast<std::uint32_t>(value);
  else if constexpr (std::same_as<S, double>)
    return std::bit_cast<std::uint64_t>(value);
  else
    return static_cast<std::uint32_t>(value);
}

template <class S>
S from_bits(std::uint64_t bits) {
  if constexpr (std::same_as<S, half>)
    return half_from_bits(static_cast<std::uint16_t>(bits));
  else if constexpr (std::same_as<S, double>)
    return std::bit_cast<double>(bits);
  else
    return std::bit_cast<S>(static_cast<std::uint32_t>(bits));
}

template <class T, int Count>
std::array<Unpacked, Count> unpack_all(const typename element::Traits<T>::storage* x) {
  std::array<Unpacked, Count> all;
  for (int i = 0; i < Count; ++i)
    all[static_cast<std::size_t>(i)] = unpack(element::Traits<T>::format, bits_in(x[i]));
  return all;
}

// The format in which the unit adds: that of c and d, or f32 where they differ.
template <class C, class D>
inline constexpr UnitFormat sum_format =
    std::same_as<C, D> ? element::Traits<C>::format : UnitFormat::f32;

template <UnitFormat Sum, class C>
std::uint64_t start_of(C c) {
  if constexpr (std::same_as<C, half> && Sum == UnitFormat::f32)
    return bits_in(static_cast<float>(c));
  else
    return bits_in(c);
}
template <UnitFormat Sum, class D>
D result_of(std::uint64_t bits) {
  if constexpr (std::same_as<D, half> && Sum == UnitFormat::f32)
    return half(from_bits<float>(bits));
  else
    return from_bits<D>(bits);
}

// Whether CutSums computes the product: all values must be finite and the raised products whole.
template <int M, int N, class C, class A, class B>
bool has_cut_sums(const UnitModel& model, const A& a, const B& b, const C* c) {
  if (model.summation != Summation::truncated || !a.is_finite || !b.is_finite) return false;
  return std::all_of(c, c + M * N, [](C x) { return std::isfinite(static_cast<double>(x)); });
}

// Multiplies a fragment or selected elements of it: result m, n comes from line m of a and n of b,
// which hold K elements each.
template <class T, class D, class C, int M, int N, int K>
void multiply_lines(const UnitModel& model, const typename element::Traits<T>::storage* a,
                    const typename element::Traits<T>::storage* b, const C* c, D* d) {
  constexpr UnitFormat operand = element::Traits<T>::format, sum = sum_format<C, D>;
  const auto put = [&](const auto& sum_of) {
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        const std::uint64_t bits = sum_of(m * K, n * K, start_of<sum>(c[m * N + n]));
        d[m * N + n] = result_of<sum, D>(bits);
      }
  };
  if constexpr (operand != UnitFormat::f64) {
    const auto rows = take_apart<M * K>(operand, [&](int i) { return bits_in(a[i]); });
    const auto columns = take_apart<N * K>(operand, [&](int i) { return bits_in(b[i]); });
    if (has_cut_sums<M, N>(model, rows, columns, c)) {
      const CutSums sums(model);
      return put([&](int i, int j, std::uint64_t start) {
        const PartsOfLine line{rows.significand.data() + i, rows.exponent.data() + i,
                               columns.significand.data() + j, columns.exponent.data() + j};
        return sums(line, K, start);
      });
    }
  }
  const auto rows = unpack_all<T, M * K>(a);
  const auto columns = unpack_all<T, N * K>(b);
  put([&](int i, int j, std::uint64_t start) {
    return dot_product_add(model, {rows.data() + i, K}, {columns.data() + j, K}, start);
  });
}

template <class T, class D, class C, int M, int N, int K, class LayoutA, class LayoutB>
void multiply_floats(fragment<accumulator, M, N, K, D>& d,
                     const fragment<matrix_a, M, N, K, T, LayoutA>& a,
                     const fragment<matrix_b, M, N, K, T, LayoutB>& b,
                     const fragment<accumulator, M, N, K, C>& c) {
  // Volta's own instructions take accumulators of two types; those were not measured.
  const bool is_measured = std::same_as<C, D> || current_choice().unit != MatrixUnit::v100;
  UnitModel model = model_of(element::Traits<T>::format, sum_format<C, D>, is_measured);
  if (std::same_as<T, precision::tf32> && model.summation == Summation::truncated)
    model.terms = std::min(model.terms, 4);
  multiply_lines<T, D, C, M, N, K>(model, a.x, b.x, c.x, d.x);
}

// The sum modulo 2^32, or limited to the range of int.
inline int finished(std::int64_t sum, bool saturate) {
  using Limits = std::numeric_limits<int>;
  if (saturate) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  return static_cast<int>(static_cast<std::uint32_t>(sum));
}

template <class T, int Count>
std::array<int, Count> integers(const typename element::Traits<T>::storage* x) {
  using Traits = element::Traits<T>;
  std::array<int, Count> all;
  for (int i = 0; i < Count; ++i) {
    const auto bits = static_cast<std::uint32_t>(x[i / Traits::in_storage]) >>
                      (i % Traits::in_storage * Traits::bits);
    all[static_cast<std::size_t>(i)] =
        static_cast<int>(matrix_unit_arithmetic::integer_value(Traits::format, bits));
  }
  return all;
}

template <class T, int M, int N, int K, class LayoutA, class LayoutB>
void multiply_integers(fragment<accumulator, M, N, K, int>& d,
                       const fragment<matrix_a, M, N, K, T, LayoutA>& a,
                       const fragment<matrix_b, M, N, K, T, LayoutB>& b,
                       const fragment<accumulator, M, N, K, int>& c, bool saturate) {
  model_of(element::Traits<T>::format, UnitFormat::s32);
  const auto rows = integers<T, M * K>(a.x), columns = integers<T, N * K>(b.x);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      int sum = 0;  // below 2^20
      for (int k = 0; k < K; ++k)
        sum += rows[static_cast<std::size_t>(m * K + k)] *
               columns[static_cast<std::size_t>(n * K + k)];
      d.x[m * N + n] = finished(std::int64_t{c.x[m * N + n]} + sum, saturate);
    }
}

// Whether nvcuda::wmma has mma_sync for these types.
template <class TA, class TB, class C, class D>
constexpr bool is_product() {
  if (!std::same_as<TA, TB>) return false;
  if (std::same_as<TA, half>)
    return element::is_one_of<C, half, float> && element::is_one_of<D, half, float>;
  if (!std::same_as<C, D>) return false;
  if (element::is_one_of<TA, bfloat16, precision::tf32>) return std::same_as<C, float>;
  return std::same_as<TA, double> ? std::same_as<C, double> : std::same_as<C, int>;
}
template <class T>
inline constexpr bool is_integer = element::Traits<T>::format >= UnitFormat::s8;

template <class TA, class TB, class C, class D>
constexpr void check_types() {
  static_assert(!std::same_as<TA, experimental::precision::b1>,
                "wmma::mma_sync: single bits are multiplied by bmma_sync");
  static_assert(std::same_as<TA, TB>,
                "wmma::mma_sync: CUDA multiplies a and b of the same type only");
  static_assert(is_product<TA, TB, C, D>(),
                "wmma::mma_sync: CUDA has no product of these operands with these accumulators");
}

}  // namespace product

// d = a b + c; d may be c. Throws std::invalid_argument if the chosen unit has no such product or
// no measured model.
template <int M, int N, int K, class TA, class TB, class LayoutA, class LayoutB, class C, class D>
void mma_sync(fragment<accumulator, M, N, K, D>& d,
              const fragment<matrix_a, M, N, K, TA, LayoutA>& a,
              const fragment<matrix_b, M, N, K, TB, LayoutB>& b,
              const fragment<accumulator, M, N, K, C>& c) {
  product::check_types<TA, TB, C, D>();
  if constexpr (product::is_product<TA, TB, C, D>()) {
    if constexpr (product::is_integer<TA>)
      product::multiply_integers(d, a, b, c, false);
    else
      product::multiply_floats(d, a, b, c);
  }
}

// Integer products; with satf, sums beyond the range of int become its limits.
template <int M, int N, int K, class TA, class TB, class LayoutA, class LayoutB, class C, class D>
void mma_sync(fragment<accumulator, M, N, K, D>& d,
              const fragment<matrix_a, M, N, K, TA, LayoutA>& a,
              const fragment<matrix_b, M, N, K, TB, LayoutB>& b,
              const fragment<accumulator, M, N, K, C>& c, bool satf) {
  static_assert(product::is_integer<TA>, "wmma::mma_sync: only products of integers have satf");
  product::check_types<TA, TB, C, D>();
  if constexpr (product::is_integer<TA> && product::is_product<TA, TB, C, D>())
    product::multiply_integers(d, a, b, c, satf);
}

// d = c + number of ones in a ^ b, or in a & b, which t4 lacks.
inline void bmma_sync(
    fragment<accumulator, 8, 8, 128, int>& d,
    const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major>& a,
    const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major>& b,
    const fragment<accumulator, 8, 8, 128, int>& c,
    experimental::bmmaBitOp op = experimental::bmmaBitOpXOR,
    experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
  product::model_of(UnitFormat::b1, UnitFormat::s32);
  const bool both = op == experimental::bmmaBitOpAND;
  if (both && product::current_choice().unit == MatrixUnit::t4)
    unit::refuse(MatrixUnit::t4, "has no bmma_sync with bmmaBitOpAND");
  constexpr int words = 128 / 32;
  for (int m = 0; m < 8; ++m)
    for (int n = 0; n < 8; ++n) {
      std::int64_t sum = c.x[m * 8 + n];
      for (int k = 0; k < words; ++k) {
        const unsigned left = a.x[m * words + k], right = b.x[n * words + k];
        sum += std::popcount(both ? left & right : left ^ right);
      }
      d.x[m * 8 + n] = product::finished(sum, false);
    }
}

}  // namespace on_host
}  // namespace narrowgauge::wmma
