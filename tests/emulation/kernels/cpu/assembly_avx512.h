// SPDX-License-Identifier: Apache-2.0
// What the header of this name in src/ has in assembly, in C++: found before it where kernels are
// compiled for every CPU.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulation/avx512_conversions.h"
#include "kernels/sim/chains.h"

namespace narrowgauge::cpu::avx512 {

NG_INTRINSIC void add_products_of_int16(__m512i& sum, __m512i a, __m512i b) {
  const auto x = emulation::as<emulation::I16>(a), y = emulation::as<emulation::I16>(b);
  const auto before = emulation::as<emulation::U32>(sum);
  sum = emulation::as<__m512i>(emulation::made<emulation::U32>([&](int i) {
    return before[i] + static_cast<std::uint32_t>(x[2 * i] * y[2 * i]) +
           static_cast<std::uint32_t>(x[2 * i + 1] * y[2 * i + 1]);
  }));
}

NG_INTRINSIC void add_products_of_bytes(__m512i& sum, __m512i a, __m512i b) {
  const auto x = emulation::as<emulation::U8>(a);
  const auto y = emulation::as<emulation::I8>(b);
  const auto before = emulation::as<emulation::U32>(sum);
  sum = emulation::as<__m512i>(emulation::made<emulation::U32>([&](int i) {
    int four = 0;
    for (int k = 4 * i; k < 4 * i + 4; ++k) four += x[k] * y[k];
    return before[i] + static_cast<std::uint32_t>(four);
  }));
}

// As Summation::odd_then_even of narrowgauge/matrix_unit.h.
NG_INTRINSIC void add_products_of_bf16(__m512i& sum, __m512i a, __m512i b) {
  const sim::FloatMode flushing(true);
  const auto x = emulation::as<emulation::U32>(a), y = emulation::as<emulation::U32>(b);
  const __m512 odd_x = emulation::as<__m512>(x & 0xffff0000);
  const __m512 odd_y = emulation::as<__m512>(y & 0xffff0000);
  const __m512 odd = _mm512_fmadd_ps(odd_x, odd_y, emulation::as<__m512>(sum));
  sum = emulation::as<__m512i>(
      _mm512_fmadd_ps(emulation::as<__m512>(x << 16), emulation::as<__m512>(y << 16), odd));
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
