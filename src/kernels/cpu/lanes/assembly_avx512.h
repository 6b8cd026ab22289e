// SPDX-License-Identifier: Apache-2.0
// Instructions that only some CPUs with AVX-512 have and the files using them are not compiled for:
// only a CPU that has them gets there. Also loads that GCC must not rearrange. Only for
// *.avx512.cpp; tests/emulation has doubles for every CPU.
#pragma once

#ifdef __AVX512F__

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace narrowgauge::cpu::avx512 {

// AVX512_VNNI: multiplies pairs of int16, or fours of u8 by s8, and adds the products to `sum`.
[[gnu::always_inline]] inline void add_products_of_int16(__m512i& sum, __m512i a, __m512i b) {
  __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}
[[gnu::always_inline]] inline void add_products_of_bytes(__m512i& sum, __m512i a, __m512i b) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}

// AVX512_BF16: multiplies pairs of bf16; as_bf16 converts 32 f32.
[[gnu::always_inline]] inline void add_products_of_bf16(__m512i& sum, __m512i a, __m512i b) {
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}
[[gnu::always_inline]] inline __m512i as_bf16(__m512 low, __m512 high) {
  __m512i y;
  __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(y) : "v"(low), "v"(high));
  return y;
}

// Loads 32 bits into all lanes.
[[gnu::always_inline]] inline __m512i broadcast(const std::byte* from) {
  __m512i x;
  __asm__("vpbroadcastd %1, %0" : "=v"(x) : "m"(*reinterpret_cast<const std::int32_t*>(from)));
  return x;
}

// The bytes between rows, times one, three and five.
struct Pitches {
  std::int64_t one, three, five;
};

// Loads 32 bits of one of seven rows into all lanes. GCC would keep a pointer per row, and spill.
template <int row>
[[gnu::always_inline]] inline __m512i broadcast(const std::byte* a, const Pitches& pitch) {
  __m512i x;
  if constexpr (row == 0) __asm__("vpbroadcastd (%1), %0" : "=v"(x) : "r"(a) : "memory");
#define NG_ROW(number, step, scale) \
  if constexpr (row == number)      \
    __asm__("vpbroadcastd (%1,%2," #scale "), %0" : "=v"(x) : "r"(a), "r"(pitch.step) : "memory");
  NG_ROW(1, one, 1)
  NG_ROW(2, one, 2)
  NG_ROW(3, three, 1)
  NG_ROW(4, one, 4)
  NG_ROW(5, five, 1)
  NG_ROW(6, three, 2)
#undef NG_ROW
  return x;
}

}  // namespace narrowgauge::cpu::avx512

#endif
