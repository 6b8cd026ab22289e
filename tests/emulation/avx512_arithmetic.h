// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons and blends of AVX-512, lane by lane.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "emulation/avx512_memory.h"

namespace narrowgauge {

namespace emulation {

template <class T>
using Half [[gnu::vector_size(32), gnu::may_alias]] = T;
using HalfOfFloats = Half<float>;
using HalfOfInts = Half<std::int32_t>;
using HalfOfShorts = Half<std::int16_t>;
using HalfOfBytes = Half<std::int8_t>;
using QuarterOfBytes [[gnu::vector_size(16), gnu::may_alias]] = std::int8_t;

NG_EMULATED I16 saturated_sum(I16 a, I16 b) {
  using Limits = std::numeric_limits<std::int16_t>;
  return made<I16>([&](int i) {
    const int sum = a[i] + b[i];
    return static_cast<std::int16_t>(sum > Limits::max()   ? Limits::max()
                                     : sum < Limits::min() ? Limits::min()
                                                           : sum);
  });
}

// a 2^floor(b)
template <class Vector>
NG_EMULATED Vector scaled(Vector a, Vector b) {
  return made<Vector>([&](int i) {
    using T = std::remove_cvref_t<decltype(a[0])>;
    const T x = a[i], n = std::floor(b[i]);
    if (!std::isfinite(n)) return x * std::exp2(n);
    return std::ldexp(x, static_cast<int>(n < -9000 ? -9000 : n > 9000 ? 9000 : n));
  });
}

// The conditions that do not signal are those that do: nothing here asks for traps.
template <class T>
NG_EMULATED bool holds(T a, T b, int condition) {
  const bool unordered = a != a || b != b;
  switch (condition & 15) {
    case _CMP_EQ_OQ:
      return a == b;
    case _CMP_LT_OS:
      return a < b;
    case _CMP_LE_OS:
      return a <= b;
    case _CMP_UNORD_Q:
      return unordered;
    case _CMP_NEQ_UQ:
      return !(a == b);
    case _CMP_NLT_US:
      return !(a < b);
    case _CMP_NLE_US:
      return !(a <= b);
    case _CMP_ORD_Q:
      return !unordered;
    case _CMP_NEQ_OQ:
      return a != b && !unordered;
    case _CMP_GE_OS:
      return a >= b;
    case _CMP_GT_OS:
      return a > b;
    default:
      fail("_mm512_cmp_mask", "a condition that is not emulated");
  }
}

NG_EMULATED int class_of(std::uint32_t bits) {
  constexpr int quiet = 1, signalling = 0x80, none = 0;
  const bool negative = bits >> 31 != 0;
  const std::uint32_t size = bits & 0x7fffffff;
  if (size == 0) return negative ? 4 : 2;
  if (size == 0x7f800000) return negative ? 0x10 : 8;
  if (size < 0x7f800000) return none;
  return size & 0x400000 ? quiet : signalling;
}

}  // namespace emulation

// An operation on whole vectors, with its masked forms.
#define NG_OPERATION(name, kind, Vector, Lanes, Mask, expression)                          \
  NG_INTRINSIC Vector _mm512_##name##_##kind(Vector left, Vector right) {                  \
    const auto a = emulation::as<emulation::Lanes>(left);                                  \
    const auto b = emulation::as<emulation::Lanes>(right);                                 \
    return emulation::as<Vector>(expression);                                              \
  }                                                                                        \
  NG_INTRINSIC Vector _mm512_mask_##name##_##kind(Vector rest, Mask mask, Vector left,     \
                                                  Vector right) {                          \
    return emulation::as<Vector>(emulation::chosen(                                        \
        mask, emulation::as<emulation::Lanes>(_mm512_##name##_##kind(left, right)),        \
        emulation::as<emulation::Lanes>(rest)));                                           \
  }                                                                                        \
  NG_INTRINSIC Vector _mm512_maskz_##name##_##kind(Mask mask, Vector left, Vector right) { \
    return _mm512_mask_##name##_##kind(Vector{}, mask, left, right);                       \
  }
NG_OPERATION(add, ps, __m512, F32, __mmask16, a + b)
NG_OPERATION(sub, ps, __m512, F32, __mmask16, a - b)
NG_OPERATION(mul, ps, __m512, F32, __mmask16, a* b)
NG_OPERATION(div, ps, __m512, F32, __mmask16, a / b)
// The second operand where one is NaN, or both are zero.
NG_OPERATION(max, ps, __m512, F32, __mmask16, a > b ? a : b)
NG_OPERATION(min, ps, __m512, F32, __mmask16, a < b ? a : b)
NG_OPERATION(add, pd, __m512d, F64, __mmask8, a + b)
NG_OPERATION(mul, pd, __m512d, F64, __mmask8, a* b)
NG_OPERATION(add, epi64, __m512i, U64, __mmask8, a + b)
NG_OPERATION(add, epi32, __m512i, U32, __mmask16, a + b)
NG_OPERATION(sub, epi32, __m512i, U32, __mmask16, a - b)
NG_OPERATION(mullo, epi32, __m512i, U32, __mmask16, a* b)
NG_OPERATION(max, epi32, __m512i, I32, __mmask16, a > b ? a : b)
NG_OPERATION(max, epu32, __m512i, U32, __mmask16, a > b ? a : b)
NG_OPERATION(min, epu32, __m512i, U32, __mmask16, a < b ? a : b)
NG_OPERATION(or, epi32, __m512i, U32, __mmask16, a | b)
NG_OPERATION(add, epi16, __m512i, U16, __mmask32, a + b)
NG_OPERATION(mul, epu32, __m512i, U64, __mmask8, (a & 0xffffffff) * (b & 0xffffffff))
NG_OPERATION(adds, epi16, __m512i, I16, __mmask32, emulation::saturated_sum(a, b))
NG_OPERATION(scalef, ps, __m512, F32, __mmask16, emulation::scaled(a, b))
NG_OPERATION(scalef, pd, __m512d, F64, __mmask8, emulation::scaled(a, b))
#undef NG_OPERATION

#define NG_BITWISE(name, operation) \
  NG_INTRINSIC __m512i _mm512_##name##_si512(__m512i a, __m512i b) { return a operation b; }
NG_BITWISE(and, &)
NG_BITWISE(or, |)
NG_BITWISE(xor, ^)
#undef NG_BITWISE

#define NG_TERNARY(kind)                                                                        \
  NG_INTRINSIC __m512i _mm512_ternarylogic_##kind(__m512i a, __m512i b, __m512i c, int table) { \
    __m512i result{};                                                                           \
    for (int row = 0; row < 8; ++row)                                                           \
      if (table >> row & 1)                                                                     \
        result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);                 \
    return result;                                                                              \
  }
NG_TERNARY(epi32)
NG_TERNARY(epi64)
#undef NG_TERNARY

#define NG_SHIFT(name, kind, Lanes, Mask, operation)                                               \
  NG_INTRINSIC __m512i _mm512_##name##_##kind(__m512i x, unsigned count) {                         \
    return emulation::as<__m512i>(                                                                 \
        emulation::made<emulation::Lanes>([&, a = emulation::as<emulation::Lanes>(x)](int i) {     \
          return static_cast<std::remove_cvref_t<decltype(a[0])>>(a[i] operation count);           \
        }));                                                                                       \
  }                                                                                                \
  NG_INTRINSIC __m512i _mm512_maskz_##name##_##kind(Mask mask, __m512i x, unsigned count) {        \
    return emulation::as<__m512i>(                                                                 \
        emulation::chosen(mask, emulation::as<emulation::Lanes>(_mm512_##name##_##kind(x, count)), \
                          emulation::Lanes{}));                                                    \
  }
NG_SHIFT(slli, epi32, U32, __mmask16, <<)
NG_SHIFT(srli, epi32, U32, __mmask16, >>)
NG_SHIFT(slli, epi64, U64, __mmask8, <<)
NG_SHIFT(srli, epi64, U64, __mmask8, >>)
NG_SHIFT(srai, epi16, I16, __mmask32, >>)
#undef NG_SHIFT

// One rounding for each lane.
#define NG_FMA(kind, Vector, Half)                                                         \
  NG_INTRINSIC Vector _mm512_fmadd_##kind(Vector a, Vector b, Vector c) {                  \
    const auto of = [&](int i) {                                                           \
      return _mm256_fmadd_##kind(emulation::half<Half>(a, i), emulation::half<Half>(b, i), \
                                 emulation::half<Half>(c, i));                             \
    };                                                                                     \
    return emulation::joined<Vector>(of(0), of(1));                                        \
  }                                                                                        \
  NG_INTRINSIC Vector _mm512_fnmadd_##kind(Vector a, Vector b, Vector c) {                 \
    return _mm512_fmadd_##kind(-a, b, c);                                                  \
  }
NG_FMA(ps, __m512, __m256)
NG_FMA(pd, __m512d, __m256d)
#undef NG_FMA

NG_INTRINSIC __m512 _mm512_maskz_sqrt_ps(__mmask16 mask, __m512 x) {
  const auto of = [&](int i) { return _mm256_sqrt_ps(emulation::half<__m256>(x, i)); };
  return emulation::chosen(mask, emulation::joined<__m512>(of(0), of(1)), __m512{});
}
// The inverse to 14 bits; a CPU may be as far off in another way.
NG_INTRINSIC __m512 _mm512_rcp14_ps(__m512 x) {
  const auto bits = emulation::as<emulation::U32>(1.0F / x) + 0x100;
  return emulation::as<__m512>(bits & 0xfffffe00);
}
NG_INTRINSIC __m512 _mm512_abs_ps(__m512 x) {
  return emulation::as<__m512>(emulation::as<emulation::U32>(x) & 0x7fffffff);
}
NG_INTRINSIC __m512d _mm512_abs_pd(__m512d x) {
  return emulation::as<__m512d>(emulation::as<emulation::U64>(x) & ~(std::uint64_t{1} << 63));
}
NG_INTRINSIC __m512 _mm512_getexp_ps(__m512 x) {
  return emulation::made<__m512>([&](int i) { return __builtin_logbf(x[i]); });
}

// The sum in the order of the CPU: neighbours of halves, of quarters and so on.
NG_INTRINSIC float _mm512_reduce_add_ps(__m512 x) {
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) x[i] = x[i] + x[i + width];
  return x[0];
}
NG_INTRINSIC float _mm512_reduce_max_ps(__m512 x) {
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) x[i] = x[i] > x[i + width] ? x[i] : x[i + width];
  return x[0];
}
NG_INTRINSIC unsigned _mm512_reduce_max_epu32(__m512i x) {
  const auto lanes = emulation::as<emulation::U32>(x);
  unsigned most = 0;
  for (int i = 0; i < 16; ++i) most = lanes[i] > most ? lanes[i] : most;
  return most;
}

// Comparisons of floats take the condition of <immintrin.h>.
#define NG_COMPARE_FLOATS(kind, Vector, Mask, lanes)                                              \
  NG_INTRINSIC Mask _mm512_cmp_##kind##_mask(Vector a, Vector b, int condition) {                 \
    return static_cast<Mask>(emulation::mask_of<lanes>(                                           \
        [&](int i) { return emulation::holds(a[i], b[i], condition); }));                         \
  }                                                                                               \
  NG_INTRINSIC Mask _mm512_mask_cmp_##kind##_mask(Mask mask, Vector a, Vector b, int condition) { \
    return static_cast<Mask>(mask & _mm512_cmp_##kind##_mask(a, b, condition));                   \
  }
NG_COMPARE_FLOATS(ps, __m512, __mmask16, 16)
NG_COMPARE_FLOATS(pd, __m512d, __mmask8, 8)
#undef NG_COMPARE_FLOATS

#define NG_COMPARE(prefix, name, Vector, Part, Mask, lanes, condition)                     \
  NG_INTRINSIC Mask prefix##_##name##_mask(Vector left, Vector right) {                    \
    const auto a = emulation::as<emulation::Part>(left);                                   \
    const auto b = emulation::as<emulation::Part>(right);                                  \
    return static_cast<Mask>(emulation::mask_of<lanes>([&](int i) { return condition; })); \
  }                                                                                        \
  NG_INTRINSIC Mask prefix##_mask_##name##_mask(Mask mask, Vector left, Vector right) {    \
    return static_cast<Mask>(mask & prefix##_##name##_mask(left, right));                  \
  }
NG_COMPARE(_mm512, cmpgt_epi32, __m512i, I32, __mmask16, 16, a[i] > b[i])
NG_COMPARE(_mm512, cmpgt_epu32, __m512i, U32, __mmask16, 16, a[i] > b[i])
NG_COMPARE(_mm512, cmplt_epu32, __m512i, U32, __mmask16, 16, a[i] < b[i])
NG_COMPARE(_mm512, test_epi32, __m512i, U32, __mmask16, 16, (a[i] & b[i]) != 0)
NG_COMPARE(_mm512, cmpgt_epi16, __m512i, I16, __mmask32, 32, a[i] > b[i])
NG_COMPARE(_mm512, cmpeq_epi16, __m512i, I16, __mmask32, 32, a[i] == b[i])
NG_COMPARE(_mm256, testn_epi16, __m256i, HalfOfShorts, __mmask16, 16, (a[i] & b[i]) == 0)
NG_COMPARE(_mm256, cmpeq_epi8, __m256i, HalfOfBytes, __mmask32, 32, a[i] == b[i])
NG_COMPARE(_mm, test_epi8, __m128i, QuarterOfBytes, __mmask16, 16, (a[i] & b[i]) != 0)
#undef NG_COMPARE

// The classes of <immintrin.h>'s fpclass; subnormals and signs of finite numbers are not asked for.
NG_INTRINSIC __mmask16 _mm512_fpclass_ps_mask(__m512 x, int classes) {
  const auto bits = emulation::as<emulation::U32>(x);
  return static_cast<__mmask16>(
      emulation::mask_of<16>([&](int i) { return (emulation::class_of(bits[i]) & classes) != 0; }));
}

NG_INTRINSIC __mmask16 _knot_mask16(__mmask16 mask) { return static_cast<__mmask16>(~mask); }
NG_INTRINSIC __mmask32 _mm512_kunpackw(__mmask32 high, __mmask32 low) {
  return high << 16 | (low & 0xffff);
}

// Blends: mask_mov(rest, mask, x) and maskz_mov(mask, x), mask_blend(mask, where 0, where 1).
#define NG_MOVE(prefix, kind, Vector, Part, Mask)                                           \
  NG_INTRINSIC Vector prefix##_mask_mov_##kind(Vector rest, Mask mask, Vector x) {          \
    return emulation::as<Vector>(emulation::chosen(mask, emulation::as<emulation::Part>(x), \
                                                   emulation::as<emulation::Part>(rest)));  \
  }                                                                                         \
  NG_INTRINSIC Vector prefix##_maskz_mov_##kind(Mask mask, Vector x) {                      \
    return prefix##_mask_mov_##kind(Vector{}, mask, x);                                     \
  }                                                                                         \
  NG_INTRINSIC Vector prefix##_mask_blend_##kind(Mask mask, Vector zero, Vector one) {      \
    return prefix##_mask_mov_##kind(zero, mask, one);                                       \
  }
NG_MOVE(_mm512, ps, __m512, F32, __mmask16)
NG_MOVE(_mm512, epi32, __m512i, U32, __mmask16)
NG_MOVE(_mm512, epi16, __m512i, U16, __mmask32)
NG_MOVE(_mm512, epi8, __m512i, U8, __mmask64)
NG_MOVE(_mm256, ps, __m256, HalfOfFloats, __mmask8)
NG_MOVE(_mm256, epi8, __m256i, HalfOfBytes, __mmask32)
#undef NG_MOVE

NG_INTRINSIC __m256i _mm256_mask_or_epi32(__m256i rest, __mmask8 mask, __m256i a, __m256i b) {
  return emulation::as<__m256i>(emulation::chosen(mask, emulation::as<emulation::HalfOfInts>(a | b),
                                                  emulation::as<emulation::HalfOfInts>(rest)));
}
NG_INTRINSIC __m128i _mm_maskz_set1_epi8(__mmask16 mask, char x) {
  return emulation::as<__m128i>(emulation::made<emulation::QuarterOfBytes>(
      [=](int i) { return static_cast<std::int8_t>(emulation::has(mask, i) ? x : 0); }));
}

}  // namespace narrowgauge
