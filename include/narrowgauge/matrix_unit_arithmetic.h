// SPDX-License-Identifier: Apache-2.0
// What a matrix unit computes, bit by bit: d = c + sum over k of a[k] b[k] for a model of
// matrix_unit.h, in integers (and, where the unit itself chains IEEE operations, with these, in the
// default floating-point environment). Header-only.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "narrowgauge/matrix_unit.h"
#include "narrowgauge/matrix_unit_formats.h"

namespace narrowgauge {

namespace matrix_unit_arithmetic {

inline constexpr std::uint64_t gpu_nan_f32 = 0x7fff'ffff, gpu_nan_f16 = 0x7fff;
inline constexpr std::uint64_t nan_f32 = 0x7fc0'0000, nan_f64 = 0x7ff8'0000'0000'0000;

// v * 2^shift, rounded towards zero.
constexpr std::int64_t shifted(std::int64_t v, int shift) {
  if (shift >= 0) return v << shift;
  if (shift < -62) return 0;
  return v < 0 ? -(-v >> -shift) : v >> -shift;
}

struct Rounding {
  FloatFormat format;
  int kept_bits;  // of the mantissa
  bool nearest;   // even; else towards zero
};
constexpr Rounding rounding_of(ResultRounding rounding) {
  if (rounding == ResultRounding::f16_nearest) return {{5, 10}, 10, true};
  return {{8, 23}, rounding == ResultRounding::f32_cut_to_13 ? 13 : 23, false};
}

// The bits of sum * 2^exponent; a sum that is too large becomes infinite, zero is +0.
constexpr std::uint64_t rounded(std::int64_t sum, int exponent, const Rounding& to) {
  if (sum == 0) return 0;
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const FloatFormat& format = to.format;
  const int leading = exponent + static_cast<int>(std::bit_width(magnitude)) - 1;
  const int binade = std::max(leading, format.smallest_exponent());
  const int dropped = binade - to.kept_bits - exponent;  // bits below the last that is kept
  std::uint64_t kept = 0;
  if (dropped <= 0) {
    kept = magnitude << -dropped;
  } else if (dropped < 64) {
    kept = magnitude >> dropped;
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    const std::uint64_t rest = magnitude & (2 * half - 1);
    if (to.nearest && (rest > half || (rest == half && kept & 1))) ++kept;
  }
  kept <<= format.mantissa_bits - to.kept_bits;
  // The leading one counts the exponent field up from that of subnormals, a carry likewise.
  const auto field = static_cast<std::uint64_t>(binade - format.smallest_exponent());
  const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent_bits) - 1)
                                 << format.mantissa_bits;
  const std::uint64_t bits = std::min((field << format.mantissa_bits) + kept, infinity);
  const std::uint64_t sign = sum < 0 ? infinity + (std::uint64_t{1} << format.mantissa_bits) : 0;
  return sign | bits;
}

// The rounded sum of a tensor core, which has no sign where it becomes zero.
constexpr std::uint64_t rounded_sum(std::int64_t sum, int exponent, const Rounding& to) {
  const std::uint64_t bits = rounded(sum, exponent, to);
  const int magnitude_bits = to.format.exponent_bits + to.format.mantissa_bits;
  return bits & ((std::uint64_t{1} << magnitude_bits) - 1) ? bits : 0;
}

// NaN or infinity where an operand, c or a scale is not finite, else 0.
inline double special_sum(std::span<const Unpacked> a, std::span<const Unpacked> b, double c) {
  double sum = std::isfinite(c) ? 0 : c;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!a[k].is_finite() || !b[k].is_finite()) sum += a[k].value * b[k].value;
  return sum;
}

// A term of a sum: significand * 2^(exponent - fraction).
struct Term {
  std::int64_t significand;
  int exponent, fraction;
};

// Sums terms that are cut to `fraction` bits below the largest exponent.
class CutSum {
 public:
  CutSum(const UnitModel& model) : model_(model), largest_(model.floor) {}
  void add(const Term& term) {
    if (term.significand == 0) return;
    largest_ = std::max(largest_, term.exponent);
    terms_[count_++] = term;
  }
  std::uint64_t result() const {
    std::int64_t sum = 0;
    for (const Term& term : std::span(terms_).first(count_))
      sum += shifted(term.significand, model_.fraction - term.fraction + term.exponent - largest_);
    return rounded_sum(sum, largest_ - model_.fraction, rounding_of(model_.rounding));
  }

 private:
  const UnitModel& model_;
  int largest_;
  std::size_t count_ = 0;
  std::array<Term, 33> terms_;  // the longest has 32 products and c
};

// Unpacks c from the result's format. f16 is widened to f32, which normalises its subnormals.
inline Unpacked unpack_c(UnitFormat result, std::uint64_t bits) {
  if (result == UnitFormat::f32) return unpack(result, bits);
  const float wide = static_cast<float>(unpack(result, bits).value);
  return unpack(UnitFormat::f32, std::bit_cast<std::uint32_t>(wide));
}

// Rounds a double that holds the sum of two numbers of the result's format to that format.
inline std::uint64_t nearest(UnitFormat result, double sum) {
  if (result == UnitFormat::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(sum));
  if (sum == 0) return std::signbit(sum) ? 0x8000 : 0;
  int exponent = 0;
  const double significand = std::frexp(sum, &exponent);
  return rounded(static_cast<std::int64_t>(significand * 0x1p53), exponent - 53,
                 rounding_of(ResultRounding::f16_nearest));
}

inline std::uint64_t special_bits(UnitFormat result, double sum) {
  if (std::isnan(sum)) return result == UnitFormat::f16 ? gpu_nan_f16 : gpu_nan_f32;
  if (result == UnitFormat::f16) return sum > 0 ? 0x7c00 : 0xfc00;
  return sum > 0 ? 0x7f80'0000 : 0xff80'0000;
}

// One operation of at most `terms` products; `scales` are this block's, or none.
inline std::uint64_t cut_operation(const UnitModel& model, std::span<const Unpacked> a,
                                   std::span<const Unpacked> b, std::uint64_t c_bits,
                                   const BlockScales& scales) {
  const Unpacked c = unpack_c(model.result, c_bits);
  double special = special_sum(a, b, c.value);
  if (!scales.a.empty()) special += special_sum(scales.a, scales.b, 0);
  if (special != 0) return special_bits(model.result, special);
  const int scale = scales.a.empty() ? 0 : scales.a[0].exponent + scales.b[0].exponent;
  CutSum sum(model);
  for (std::size_t k = 0; k < a.size(); ++k)
    sum.add({a[k].significand * b[k].significand, a[k].exponent + b[k].exponent + scale,
             a[k].fraction + b[k].fraction});
  const int raised = std::max(0, model.c_floor - c.exponent);
  sum.add({c.significand, c.exponent + raised, c.fraction + raised});
  return sum.result();
}

// Summation::then_added: two operations on f16, then c is added.
inline std::uint64_t then_added(const UnitModel& model, std::span<const Unpacked> a,
                                std::span<const Unpacked> b, std::uint64_t c) {
  std::array<Unpacked, 16> pair_a, pair_b;
  std::uint64_t sum = 0;
  for (const std::size_t pair : {0U, 2U}) {
    std::size_t count = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if ((k & 2) != pair) continue;
      pair_a[count] = a[k];
      pair_b[count++] = b[k];
    }
    sum = cut_operation(model, std::span(pair_a).first(count), std::span(pair_b).first(count), sum,
                        {});
  }
  // Both have 24 bits or fewer: in double their sum is exact, or rounds as in f32.
  const double result = unpack(model.result, c).value + unpack(model.result, sum).value;
  if (!std::isfinite(result)) return special_bits(model.result, result);
  return nearest(model.result, result);
}

// Exact products of 16 elements, times their two scales, whose significands are not normalised.
inline std::uint64_t group_operation(const UnitModel& model, std::span<const Unpacked> a,
                                     std::span<const Unpacked> b, std::uint64_t c_bits,
                                     const BlockScales& scales) {
  const Unpacked c = unpack_c(model.result, c_bits);
  const double special = special_sum(scales.a, scales.b, c.value);
  if (special != 0) return special_bits(model.result, special);
  const auto block = static_cast<std::size_t>(block_size(model.operand));
  CutSum sum(model);
  for (std::size_t first = 0; first < a.size(); first += 16) {
    double group = 0;  // exact: multiples of 1/4 up to 576
    for (std::size_t k = first; k < std::min(first + 16, a.size()); ++k)
      group += a[k].value * b[k].value;
    const Unpacked &s = scales.a[first / block], &t = scales.b[first / block];
    const std::int64_t scale = s.significand * t.significand;
    sum.add({static_cast<std::int64_t>(group * 4) * (scale < 0 ? -scale : scale),
             s.exponent + t.exponent, 2 + s.fraction + t.fraction});
  }
  sum.add({c.significand, c.exponent, c.fraction});
  return sum.result();
}

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (sizeof(T) == 8)
    return std::isnan(value) ? nan_f64 : std::bit_cast<std::uint64_t>(value);
  else
    return std::isnan(value) ? nan_f32 : std::bit_cast<std::uint32_t>(value);
}

template <class T>
T chain(std::span<const Unpacked> a, std::span<const Unpacked> b, T c) {
  for (std::size_t k = 0; k < a.size(); ++k)
    c = std::fma(static_cast<T>(a[k].value), static_cast<T>(b[k].value), c);
  return c;
}

inline float pairwise_sum(std::span<const Unpacked> a, std::span<const Unpacked> b) {
  if (a.empty()) return 0;
  if (a.size() == 1) return static_cast<float>(a[0].value) * static_cast<float>(b[0].value);
  const std::size_t half = (a.size() + 1) / 2;
  return pairwise_sum(a.first(half), b.first(half)) +
         pairwise_sum(a.subspan(half), b.subspan(half));
}

inline float split_sum(std::span<const Unpacked> a, std::span<const Unpacked> b) {
  const std::size_t quarter = (a.size() + 3) / 4;
  float sum = 0;
  for (std::size_t first = 0; first < a.size(); first += quarter) {
    const std::size_t count = std::min(quarter, a.size() - first);
    sum += chain(a.subspan(first, count), b.subspan(first, count), 0.0F);
  }
  return sum;
}

// fma(a, b, c) in f32 where subnormal operands and results are zero. A result counts as subnormal
// before it is rounded to the smallest normal number: the exact one must be within 2^-151 of it.
inline float flushing_fma(float a, float b, float c) {
  constexpr float least = std::numeric_limits<float>::min();
  const auto flushed = [](float x) { return std::fabs(x) < least ? std::copysign(0.0F, x) : x; };
  a = flushed(a), b = flushed(b), c = flushed(c);
  const float result = std::fma(a, b, c);
  if (std::fabs(result) != least) return flushed(result);
  const double sign = result < 0 ? -1 : 1;
  const double missing = std::fma(-sign * double{a}, double{b}, double{least} - sign * double{c});
  return missing > 0x1p-151 ? std::copysign(0.0F, result) : result;
}

inline float even_and_odd(std::span<const Unpacked> a, std::span<const Unpacked> b, float c) {
  float even = 0, odd = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    float& sum = k % 2 ? odd : even;
    sum = flushing_fma(static_cast<float>(a[k].value), static_cast<float>(b[k].value), sum);
  }
  return flushing_fma(1, c, flushing_fma(1, even, odd));
}

inline float odd_then_even(std::span<const Unpacked> a, std::span<const Unpacked> b, float c) {
  const auto add = [&](std::size_t k) {
    const bool there = k < a.size();
    c = flushing_fma(there ? static_cast<float>(a[k].value) : 0,
                     there ? static_cast<float>(b[k].value) : 0, c);
  };
  add(1);
  add(0);
  return c;
}

inline std::uint64_t wrapped_sum(std::span<const Unpacked> a, std::span<const Unpacked> b,
                                 std::uint64_t c) {
  auto sum = static_cast<std::uint32_t>(c);
  for (std::size_t k = 0; k < a.size(); ++k)
    sum += static_cast<std::uint32_t>(a[k].significand * b[k].significand);
  return sum;
}

// One operation of the unit: at most `terms` products.
inline std::uint64_t operation(const UnitModel& model, std::span<const Unpacked> a,
                               std::span<const Unpacked> b, std::uint64_t c,
                               const BlockScales& scales) {
  const float c_value = std::bit_cast<float>(static_cast<std::uint32_t>(c));
  switch (model.summation) {
    case Summation::truncated:
      return cut_operation(model, a, b, c, scales);
    case Summation::then_added:
      return then_added(model, a, b, c);
    case Summation::groups:
      return group_operation(model, a, b, c, scales);
    case Summation::even_and_odd:
      return bits_of(even_and_odd(a, b, c_value));
    default:
      return bits_of(odd_then_even(a, b, c_value));
  }
}

}  // namespace matrix_unit_arithmetic

// d = c + sum over k of a[k] b[k]; c and d are bits of the model's result format. `a` and `b` are
// equally long and unpacked from the model's operand format; each may be of another (u8 with s8,
// f8e4m3 with f8e5m2) of as many bits. A depth of more than `terms` is a chain of operations.
// Block-scaled formats need `scales`, ceil(depth / block_size()) for each operand.
inline std::uint64_t dot_product_add(const UnitModel& model, std::span<const Unpacked> a,
                                     std::span<const Unpacked> b, std::uint64_t c,
                                     const BlockScales& scales = {}) {
  namespace unit = matrix_unit_arithmetic;
  const float c_value = std::bit_cast<float>(static_cast<std::uint32_t>(c));
  switch (model.summation) {
    case Summation::fma_chain:
      if (model.result == UnitFormat::f64)
        return unit::bits_of(unit::chain(a, b, std::bit_cast<double>(c)));
      return unit::bits_of(unit::chain(a, b, c_value));
    case Summation::split_chains:
      return unit::bits_of(c_value + unit::split_sum(a, b));
    case Summation::pairwise:
      return unit::bits_of(c_value + unit::pairwise_sum(a, b));
    case Summation::integer:
      return unit::wrapped_sum(a, b, c);
    default:
      break;
  }
  const auto terms = static_cast<std::size_t>(model.terms);
  const auto block = static_cast<std::size_t>(block_size(model.operand));
  for (std::size_t k = 0; k < a.size(); k += terms) {
    const std::size_t count = std::min(terms, a.size() - k);
    BlockScales here;
    if (block) {
      const std::size_t blocks = (count + block - 1) / block;
      here = {scales.a.subspan(k / block, blocks), scales.b.subspan(k / block, blocks)};
    }
    c = unit::operation(model, a.subspan(k, count), b.subspan(k, count), c, here);
  }
  return c;
}

}  // namespace narrowgauge
