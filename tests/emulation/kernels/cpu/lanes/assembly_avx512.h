// SPDX-License-Identifier: Apache-2.0
// What the header of this name in src/ has in assembly, in C++: found before it where kernels are
// compiled for every CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulation/avx512_products.h"

namespace narrowgauge::cpu::avx512 {

NG_EMULATED void add_products_of_int16(__m512i& sum, __m512i a, __m512i b) {
  sum = _mm512_dpwssd_epi32(sum, a, b);
}
NG_EMULATED void add_products_of_bytes(__m512i& sum, __m512i a, __m512i b) {
  sum = _mm512_dpbusd_epi32(sum, a, b);
}
NG_EMULATED void add_products_of_bf16(__m512i& sum, __m512i a, __m512i b) {
  sum = emulation::as<__m512i>(_mm512_dpbf16_ps(
      emulation::as<__m512>(sum), emulation::as<__m512bh>(a), emulation::as<__m512bh>(b)));
}

NG_INTRINSIC __m512i as_bf16(__m512 low, __m512 high) { return emulation::bf16_pairs(low, high); }

NG_EMULATED __m512i broadcast(const std::byte* from) {
  std::int32_t value;
  std::memcpy(&value, from, sizeof value);
  return _mm512_set1_epi32(value);
}

struct Pitches {
  std::int64_t one, three, five;
};
template <int row>
NG_EMULATED __m512i broadcast(const std::byte* a, const Pitches& pitch) {
  return broadcast(a + row * pitch.one);
}

}  // namespace narrowgauge::cpu::avx512
