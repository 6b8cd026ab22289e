// SPDX-License-Identifier: Apache-2.0
// Loads, stores and constants of AVX-512.
#pragma once

#include "emulation/lanes.h"

namespace narrowgauge {

namespace emulation {

NG_EMULATED void check_aligned(const void* address, const char* instruction) {
  if (reinterpret_cast<std::uintptr_t>(address) % 64 != 0)
    fail(instruction, "the address is not a multiple of 64");
}

template <class Vector, class Lane>
NG_EMULATED Vector masked_load(Vector rest, std::uint64_t mask, const void* from) {
  constexpr int lanes = static_cast<int>(sizeof(Vector) / sizeof(Lane));
  for (int i = 0; i < lanes; ++i)
    if (has(mask, i))
      __builtin_memcpy(reinterpret_cast<Lane*>(&rest) + i, static_cast<const Lane*>(from) + i,
                       sizeof(Lane));
  return rest;
}
template <class Lane, class Vector>
NG_EMULATED void masked_store(void* to, std::uint64_t mask, Vector x) {
  constexpr int lanes = static_cast<int>(sizeof(Vector) / sizeof(Lane));
  for (int i = 0; i < lanes; ++i)
    if (has(mask, i))
      __builtin_memcpy(static_cast<Lane*>(to) + i, reinterpret_cast<const Lane*>(&x) + i,
                       sizeof(Lane));
}

}  // namespace emulation

#define NG_LOAD_AND_STORE(kind, Vector, Unaligned)                                                 \
  NG_INTRINSIC Vector _mm512_loadu_##kind(const void* from) {                                      \
    return *static_cast<const Unaligned*>(from);                                                   \
  }                                                                                                \
  NG_INTRINSIC void _mm512_storeu_##kind(void* to, Vector x) { *static_cast<Unaligned*>(to) = x; } \
  NG_INTRINSIC Vector _mm512_load_##kind(const void* from) {                                       \
    emulation::check_aligned(from, "_mm512_load_" #kind);                                          \
    return *static_cast<const Unaligned*>(from);                                                   \
  }                                                                                                \
  NG_INTRINSIC void _mm512_store_##kind(void* to, Vector x) {                                      \
    emulation::check_aligned(to, "_mm512_store_" #kind);                                           \
    *static_cast<Unaligned*>(to) = x;                                                              \
  }                                                                                                \
  NG_INTRINSIC void _mm512_stream_##kind(void* to, Vector x) {                                     \
    emulation::check_aligned(to, "_mm512_stream_" #kind);                                          \
    *static_cast<Unaligned*>(to) = x;                                                              \
  }
NG_LOAD_AND_STORE(ps, __m512, __m512_u)
NG_LOAD_AND_STORE(pd, __m512d, __m512d_u)
NG_LOAD_AND_STORE(si512, __m512i, __m512i_u)
#undef NG_LOAD_AND_STORE

#define NG_MASKED_MEMORY(prefix, kind, Vector, Mask, Lane)                                   \
  NG_INTRINSIC Vector prefix##_mask_loadu_##kind(Vector rest, Mask mask, const void* from) { \
    return emulation::masked_load<Vector, Lane>(rest, mask, from);                           \
  }                                                                                          \
  NG_INTRINSIC Vector prefix##_maskz_loadu_##kind(Mask mask, const void* from) {             \
    return emulation::masked_load<Vector, Lane>(Vector{}, mask, from);                       \
  }                                                                                          \
  NG_INTRINSIC void prefix##_mask_storeu_##kind(void* to, Mask mask, Vector x) {             \
    emulation::masked_store<Lane>(to, mask, x);                                              \
  }
NG_MASKED_MEMORY(_mm512, ps, __m512, __mmask16, float)
NG_MASKED_MEMORY(_mm512, epi32, __m512i, __mmask16, std::int32_t)
NG_MASKED_MEMORY(_mm512, epi16, __m512i, __mmask32, std::int16_t)
NG_MASKED_MEMORY(_mm512, epi8, __m512i, __mmask64, std::int8_t)
NG_MASKED_MEMORY(_mm256, epi16, __m256i, __mmask16, std::int16_t)
NG_MASKED_MEMORY(_mm256, epi8, __m256i, __mmask32, std::int8_t)
#undef NG_MASKED_MEMORY

NG_INTRINSIC __m512 _mm512_maskz_load_ps(__mmask16 mask, const void* from) {
  emulation::check_aligned(from, "_mm512_maskz_load_ps");
  return _mm512_maskz_loadu_ps(mask, from);
}

NG_INTRINSIC __m512 _mm512_setzero_ps() { return __m512{}; }
NG_INTRINSIC __m512d _mm512_setzero_pd() { return __m512d{}; }
NG_INTRINSIC __m512i _mm512_setzero_si512() { return __m512i{}; }

#define NG_SET1(kind, Vector, Lanes, Lane)                                                   \
  NG_INTRINSIC Vector _mm512_set1_##kind(Lane x) {                                           \
    return emulation::as<Vector>(emulation::made<emulation::Lanes>([=](int) { return x; })); \
  }
NG_SET1(ps, __m512, F32, float)
NG_SET1(pd, __m512d, F64, double)
NG_SET1(epi64, __m512i, I64, std::int64_t)
NG_SET1(epi32, __m512i, I32, std::int32_t)
NG_SET1(epi16, __m512i, I16, std::int16_t)
NG_SET1(epi8, __m512i, I8, char)
#undef NG_SET1
NG_INTRINSIC __m512i _mm512_set_epi64(long long h, long long g, long long f, long long e,
                                      long long d, long long c, long long b, long long a) {
  return __m512i{a, b, c, d, e, f, g, h};
}
NG_INTRINSIC __m512i _mm512_set_epi32(int p, int o, int n, int m, int l, int k, int j, int i, int h,
                                      int g, int f, int e, int d, int c, int b, int a) {
  return emulation::as<__m512i>(emulation::I32{a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p});
}

}  // namespace narrowgauge
