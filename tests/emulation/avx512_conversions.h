// SPDX-License-Identifier: Apache-2.0
// Conversions and casts of AVX-512, and those of AVX512_BF16. AVX2's are the same lane by lane.
#pragma once

#include <algorithm>

#include "emulation/avx512_arithmetic.h"

namespace narrowgauge {

#define NG_CAST(name, To, From) \
  NG_INTRINSIC To _mm512_##name(From x) { return emulation::as<To>(x); }
NG_CAST(castps_si512, __m512i, __m512)
NG_CAST(castsi512_ps, __m512, __m512i)
NG_CAST(castps_pd, __m512d, __m512)
NG_CAST(castpd_ps, __m512, __m512d)
#undef NG_CAST
NG_INTRINSIC __m256 _mm512_castps512_ps256(__m512 x) { return emulation::half<__m256>(x, 0); }
NG_INTRINSIC __m256i _mm512_castsi512_si256(__m512i x) { return emulation::half<__m256i>(x, 0); }
// The upper half is anything: no kernel may count on zeros.
NG_INTRINSIC __m512 _mm512_castps256_ps512(__m256 x) {
  return emulation::joined<__m512>(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fa5a5a5)));
}
NG_INTRINSIC __m512i _mm512_castsi256_si512(__m256i x) {
  return emulation::joined<__m512i>(x, _mm256_set1_epi32(0x7fa5a5a5));
}
NG_INTRINSIC __m512i _mm512_zextsi256_si512(__m256i x) {
  return emulation::joined<__m512i>(x, _mm256_setzero_si256());
}
NG_INTRINSIC __m512i _mm512_zextsi128_si512(__m128i x) {
  return emulation::joined<__m512i>(_mm256_zextsi128_si256(x), _mm256_setzero_si256());
}
NG_INTRINSIC float _mm512_cvtss_f32(__m512 x) { return x[0]; }

// A conversion of each half, with its masked form.
#define NG_CONVERSION(name, To, Part, Mask, From, of_low, of_high)                         \
  NG_INTRINSIC To _mm512_##name(From x) { return emulation::joined<To>(of_low, of_high); } \
  NG_INTRINSIC To _mm512_maskz_##name(Mask mask, From x) {                                 \
    return emulation::as<To>(emulation::chosen(                                            \
        mask, emulation::as<emulation::Part>(_mm512_##name(x)), emulation::Part{}));       \
  }
NG_CONVERSION(cvtepi32_ps, __m512, F32, __mmask16, __m512i,
              _mm256_cvtepi32_ps(emulation::half<__m256i>(x, 0)),
              _mm256_cvtepi32_ps(emulation::half<__m256i>(x, 1)))
NG_CONVERSION(cvtps_epi32, __m512i, I32, __mmask16, __m512,
              _mm256_cvtps_epi32(emulation::half<__m256>(x, 0)),
              _mm256_cvtps_epi32(emulation::half<__m256>(x, 1)))
NG_CONVERSION(cvttps_epi32, __m512i, I32, __mmask16, __m512,
              _mm256_cvttps_epi32(emulation::half<__m256>(x, 0)),
              _mm256_cvttps_epi32(emulation::half<__m256>(x, 1)))
NG_CONVERSION(cvtepu16_epi32, __m512i, I32, __mmask16, __m256i,
              _mm256_cvtepu16_epi32(_mm256_castsi256_si128(x)),
              _mm256_cvtepu16_epi32(_mm256_extracti128_si256(x, 1)))
NG_CONVERSION(cvtph_ps, __m512, F32, __mmask16, __m256i, _mm256_cvtph_ps(_mm256_castsi256_si128(x)),
              _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1)))
NG_CONVERSION(cvtps_pd, __m512d, F64, __mmask8, __m256, _mm256_cvtps_pd(_mm256_castps256_ps128(x)),
              _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)))
NG_CONVERSION(cvtepi32_pd, __m512d, F64, __mmask8, __m256i,
              _mm256_cvtepi32_pd(_mm256_castsi256_si128(x)),
              _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1)))
NG_CONVERSION(cvtepu8_epi32, __m512i, I32, __mmask16, __m128i, _mm256_cvtepu8_epi32(x),
              _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(x, x)))
NG_CONVERSION(cvtepi8_epi32, __m512i, I32, __mmask16, __m128i, _mm256_cvtepi8_epi32(x),
              _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(x, x)))
#undef NG_CONVERSION

// Numbers that bytes cannot hold become the nearest that they can.
#define NG_SATURATION(name, Lanes, least, most)                                           \
  NG_INTRINSIC __m128i _mm512_maskz_##name(__mmask16 mask, __m512i x) {                   \
    const auto lanes = emulation::as<emulation::Lanes>(x);                                \
    return emulation::as<__m128i>(emulation::made<emulation::QuarterOfBytes>([&](int i) { \
      const std::int64_t lane = std::clamp<std::int64_t>(lanes[i], least, most);          \
      return emulation::has(mask, i) ? static_cast<std::int8_t>(lane) : std::int8_t{0};   \
    }));                                                                                  \
  }
NG_SATURATION(cvtsepi32_epi8, I32, -128, 127)
NG_SATURATION(cvtusepi32_epi8, U32, 0, 255)
#undef NG_SATURATION

NG_INTRINSIC __m256i _mm512_cvtps_ph(__m512 x, int rounding) {
  if ((rounding & ~_MM_FROUND_NO_EXC) != _MM_FROUND_TO_NEAREST_INT)
    emulation::fail("_mm512_cvtps_ph", "a rounding that is not emulated");
  return _mm256_set_m128i(
      _mm256_cvtps_ph(emulation::half<__m256>(x, 1), _MM_FROUND_TO_NEAREST_INT),
      _mm256_cvtps_ph(emulation::half<__m256>(x, 0), _MM_FROUND_TO_NEAREST_INT));
}
NG_INTRINSIC __m256i _mm512_maskz_cvtps_ph(__mmask16 mask, __m512 x, int rounding) {
  return emulation::as<__m256i>(
      emulation::chosen(mask, emulation::as<emulation::HalfOfShorts>(_mm512_cvtps_ph(x, rounding)),
                        emulation::HalfOfShorts{}));
}
NG_INTRINSIC __m256 _mm512_cvtpd_ps(__m512d x) {
  return _mm256_set_m128(_mm256_cvtpd_ps(emulation::half<__m256d>(x, 1)),
                         _mm256_cvtpd_ps(emulation::half<__m256d>(x, 0)));
}
NG_INTRINSIC __m256 _mm512_cvt_roundpd_ps(__m512d x, int rounding) {
  if (rounding != (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
    emulation::fail("_mm512_cvt_roundpd_ps", "a rounding that is not emulated");
  return emulation::made<__m256>([&](int i) {
    const auto nearest = static_cast<float>(x[i]);
    const bool beyond = std::fabs(static_cast<double>(nearest)) > std::fabs(x[i]);
    return beyond ? std::nextafter(nearest, 0.0F) : nearest;
  });
}
NG_INTRINSIC __m256i _mm512_cvtepi32_epi16(__m512i x) {
  const auto lanes = emulation::as<emulation::I32>(x);
  return emulation::as<__m256i>(emulation::made<emulation::HalfOfShorts>(
      [&](int i) { return static_cast<std::int16_t>(lanes[i]); }));
}
NG_INTRINSIC __m256i _mm512_maskz_cvtepi16_epi8(__mmask32 mask, __m512i x) {
  const auto lanes = emulation::as<emulation::I16>(x);
  return emulation::as<__m256i>(emulation::made<emulation::HalfOfBytes>([&](int i) {
    return emulation::has(mask, i) ? static_cast<std::int8_t>(lanes[i]) : std::int8_t{0};
  }));
}

namespace emulation {

// Rounds to the nearest, ties to even, whatever MXCSR says; subnormals are zeros and NaN is quiet.
NG_EMULATED std::uint16_t bf16_of(std::uint32_t bits) {
  const std::uint32_t size = bits & 0x7fffffff;
  if (size < 0x00800000) return static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  if (size > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

NG_EMULATED __m512i bf16_pairs(__m512 low, __m512 high) {
  const auto a = as<U32>(low), b = as<U32>(high);
  return as<__m512i>(made<U16>([&](int i) { return bf16_of(i < 16 ? a[i % 16] : b[i % 16]); }));
}

}  // namespace emulation

NG_INTRINSIC __m512bh _mm512_cvtne2ps_pbh(__m512 high, __m512 low) {
  return reinterpret_cast<__m512bh>(emulation::bf16_pairs(low, high));
}
NG_INTRINSIC __m256bh _mm512_cvtneps_pbh(__m512 x) {
  const __m512i both = emulation::bf16_pairs(x, x);
  return reinterpret_cast<__m256bh>(emulation::half<__m256i>(both, 0));
}

}  // namespace narrowgauge
