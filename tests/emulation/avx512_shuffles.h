// SPDX-License-Identifier: Apache-2.0
// Lanes of AVX-512 in other places.
#pragma once

#include "emulation/avx512_conversions.h"

namespace narrowgauge {

namespace emulation {

// The lower, or the upper lanes of both in turn, within each 128 bits.
template <class Vector>
NG_EMULATED Vector interleaved(Vector a, Vector b, bool upper) {
  constexpr int quarter = static_cast<int>(sizeof(Vector) / sizeof(a[0])) / 4;
  return made<Vector>([&](int i) {
    const int from = i / quarter * quarter + (upper ? quarter / 2 : 0) + i % quarter / 2;
    return i % 2 ? b[from] : a[from];
  });
}

// The lanes of a, then those of b, as narrower ones, within each 128 bits.
template <class Narrow, class Wide>
NG_EMULATED Narrow packed(Wide a, Wide b) {
  using T = std::remove_cvref_t<decltype(Narrow{}[0])>;
  using Limits = std::numeric_limits<T>;
  constexpr int quarter = static_cast<int>(sizeof(Wide) / sizeof(a[0])) / 4;
  return made<Narrow>([&](int i) {
    const int lane = i % (2 * quarter), at = i / (2 * quarter) * quarter + lane % quarter;
    const int x = lane < quarter ? a[at] : b[at];
    return static_cast<T>(x > Limits::max()   ? Limits::max()
                          : x < Limits::min() ? Limits::min()
                                              : x);
  });
}

template <class Vector, class Index>
NG_EMULATED Vector permuted(Index index, Vector a, Vector b) {
  constexpr int lanes = static_cast<int>(sizeof(Vector) / sizeof(a[0]));
  return made<Vector>([&](int i) {
    const auto from = static_cast<int>(index[i] & (2 * lanes - 1));
    return from < lanes ? a[from] : b[from - lanes];
  });
}

}  // namespace emulation

#define NG_PERMUTE(kind, Vector, Lanes, Index)                                               \
  NG_INTRINSIC Vector _mm512_permutex2var_##kind(Vector a, __m512i index, Vector b) {        \
    return emulation::as<Vector>(emulation::permuted(emulation::as<emulation::Index>(index), \
                                                     emulation::as<emulation::Lanes>(a),     \
                                                     emulation::as<emulation::Lanes>(b)));   \
  }
NG_PERMUTE(ps, __m512, F32, U32)
NG_PERMUTE(pd, __m512d, F64, U64)
NG_PERMUTE(epi64, __m512i, U64, U64)
NG_PERMUTE(epi16, __m512i, U16, U16)
NG_PERMUTE(epi8, __m512i, U8, U8)
#undef NG_PERMUTE

#define NG_PERMUTE_ONE(kind, Lanes, Mask)                                                     \
  NG_INTRINSIC __m512i _mm512_permutexvar_##kind(__m512i index, __m512i x) {                  \
    const auto lanes = emulation::as<emulation::Lanes>(x);                                    \
    return emulation::as<__m512i>(                                                            \
        emulation::permuted(emulation::as<emulation::Lanes>(index), lanes, lanes));           \
  }                                                                                           \
  NG_INTRINSIC __m512i _mm512_maskz_permutexvar_##kind(Mask mask, __m512i index, __m512i x) { \
    return emulation::as<__m512i>(emulation::chosen(                                          \
        mask, emulation::as<emulation::Lanes>(_mm512_permutexvar_##kind(index, x)),           \
        emulation::Lanes{}));                                                                 \
  }
NG_PERMUTE_ONE(epi16, U16, __mmask32)
NG_PERMUTE_ONE(epi32, U32, __mmask16)
NG_PERMUTE_ONE(epi64, U64, __mmask8)
#undef NG_PERMUTE_ONE

#define NG_UNPACK(kind, Vector, Lanes, Mask)                                                       \
  NG_INTRINSIC Vector _mm512_unpacklo_##kind(Vector a, Vector b) {                                 \
    return emulation::as<Vector>(emulation::interleaved(                                           \
        emulation::as<emulation::Lanes>(a), emulation::as<emulation::Lanes>(b), false));           \
  }                                                                                                \
  NG_INTRINSIC Vector _mm512_unpackhi_##kind(Vector a, Vector b) {                                 \
    return emulation::as<Vector>(emulation::interleaved(                                           \
        emulation::as<emulation::Lanes>(a), emulation::as<emulation::Lanes>(b), true));            \
  }                                                                                                \
  NG_INTRINSIC Vector _mm512_maskz_unpacklo_##kind(Mask mask, Vector a, Vector b) {                \
    return emulation::as<Vector>(emulation::chosen(                                                \
        mask, emulation::as<emulation::Lanes>(_mm512_unpacklo_##kind(a, b)), emulation::Lanes{})); \
  }                                                                                                \
  NG_INTRINSIC Vector _mm512_maskz_unpackhi_##kind(Mask mask, Vector a, Vector b) {                \
    return emulation::as<Vector>(emulation::chosen(                                                \
        mask, emulation::as<emulation::Lanes>(_mm512_unpackhi_##kind(a, b)), emulation::Lanes{})); \
  }
NG_UNPACK(ps, __m512, F32, __mmask16)
NG_UNPACK(epi8, __m512i, U8, __mmask64)
NG_UNPACK(epi16, __m512i, U16, __mmask32)
NG_UNPACK(epi32, __m512i, U32, __mmask16)
NG_UNPACK(epi64, __m512i, U64, __mmask8)
#undef NG_UNPACK

#define NG_PACK(name, Narrow, Wide)                                             \
  NG_INTRINSIC __m512i _mm512_##name(__m512i a, __m512i b) {                    \
    return emulation::as<__m512i>(emulation::packed<emulation::Narrow>(         \
        emulation::as<emulation::Wide>(a), emulation::as<emulation::Wide>(b))); \
  }
NG_PACK(packs_epi32, I16, I32)
NG_PACK(packs_epi16, I8, I16)
NG_PACK(packus_epi16, U8, I16)
#undef NG_PACK

// Four lanes of 128 bits: two of a, then two of b.
NG_INTRINSIC __m512i _mm512_shuffle_i32x4(__m512i a, __m512i b, int order) {
  return emulation::made<__m512i>([&](int i) {
    const int from = (order >> i / 2 * 2 & 3) * 2 + i % 2;
    return i < 4 ? a[from] : b[from];
  });
}
NG_INTRINSIC __m512i _mm512_maskz_shuffle_i32x4(__mmask16 mask, __m512i a, __m512i b, int order) {
  return _mm512_maskz_mov_epi32(mask, _mm512_shuffle_i32x4(a, b, order));
}
// Bytes of the same 128 bits; an index with its highest bit gives zero.
NG_INTRINSIC __m512i _mm512_mask_shuffle_epi8(__m512i otherwise, __mmask64 mask, __m512i x,
                                              __m512i index) {
  const auto bytes = emulation::as<emulation::U8>(x), from = emulation::as<emulation::U8>(index);
  const auto moved = emulation::made<emulation::U8>([&](int i) {
    return static_cast<std::uint8_t>(from[i] & 0x80 ? 0 : bytes[i / 16 * 16 + (from[i] & 15)]);
  });
  return emulation::as<__m512i>(
      emulation::chosen(mask, moved, emulation::as<emulation::U8>(otherwise)));
}
NG_INTRINSIC __m512i _mm512_maskz_broadcast_i32x4(__mmask16 mask, __m128i x) {
  return _mm512_maskz_mov_epi32(mask, emulation::made<__m512i>([&](int i) { return x[i % 2]; }));
}
NG_INTRINSIC __m512i _mm512_maskz_broadcastd_epi32(__mmask16 mask, __m128i x) {
  return _mm512_maskz_mov_epi32(mask, _mm512_set1_epi32(_mm_cvtsi128_si32(x)));
}

#define NG_HALVES(kind, Vector, Part, Mask, Lane)                                    \
  NG_INTRINSIC Part _mm512_extract##kind(Vector x, int index) {                      \
    return emulation::half<Part>(x, index);                                          \
  }                                                                                  \
  NG_INTRINSIC Part _mm512_maskz_extract##kind(Mask mask, Vector x, int index) {     \
    return emulation::as<Part>(emulation::chosen(                                    \
        mask, emulation::as<emulation::Half<Lane>>(emulation::half<Part>(x, index)), \
        emulation::Half<Lane>{}));                                                   \
  }
NG_HALVES(f32x8_ps, __m512, __m256, __mmask8, float)
NG_HALVES(f64x4_pd, __m512d, __m256d, __mmask8, double)
NG_HALVES(i32x8_epi32, __m512i, __m256i, __mmask8, std::int32_t)
NG_HALVES(i64x4_epi64, __m512i, __m256i, __mmask8, std::int64_t)
#undef NG_HALVES

NG_INTRINSIC __m512 _mm512_insertf32x8(__m512 x, __m256 part, int index) {
  return index ? emulation::joined<__m512>(emulation::half<__m256>(x, 0), part)
               : emulation::joined<__m512>(part, emulation::half<__m256>(x, 1));
}
NG_INTRINSIC __m512i _mm512_inserti64x4(__m512i x, __m256i part, int index) {
  return index ? emulation::joined<__m512i>(emulation::half<__m256i>(x, 0), part)
               : emulation::joined<__m512i>(part, emulation::half<__m256i>(x, 1));
}
NG_INTRINSIC __m512i _mm512_maskz_inserti64x4(__mmask8 mask, __m512i x, __m256i part, int index) {
  return emulation::chosen(mask, _mm512_inserti64x4(x, part, index), __m512i{});
}
NG_INTRINSIC __m512i _mm512_maskz_inserti32x4(__mmask16 mask, __m512i x, __m128i part, int index) {
  x[2 * index] = part[0];
  x[2 * index + 1] = part[1];
  return _mm512_maskz_mov_epi32(mask, x);
}

}  // namespace narrowgauge
