// SPDX-License-Identifier: Apache-2.0
// Products that AVX512_VNNI and AVX512_BF16 add up.
#pragma once

#include "emulation/avx512_conversions.h"
#include "units/chains.h"

namespace narrowgauge {

NG_INTRINSIC __m512i _mm512_dpwssd_epi32(__m512i sum, __m512i a, __m512i b) {
  const auto x = emulation::as<emulation::I16>(a), y = emulation::as<emulation::I16>(b);
  const auto before = emulation::as<emulation::U32>(sum);
  return emulation::as<__m512i>(emulation::made<emulation::U32>([&](int i) {
    return before[i] + static_cast<std::uint32_t>(x[2 * i] * y[2 * i]) +
           static_cast<std::uint32_t>(x[2 * i + 1] * y[2 * i + 1]);
  }));
}

NG_INTRINSIC __m512i _mm512_dpbusd_epi32(__m512i sum, __m512i a, __m512i b) {
  const auto x = emulation::as<emulation::U8>(a);
  const auto y = emulation::as<emulation::I8>(b);
  const auto before = emulation::as<emulation::U32>(sum);
  return emulation::as<__m512i>(emulation::made<emulation::U32>([&](int i) {
    int four = 0;
    for (int k = 4 * i; k < 4 * i + 4; ++k) four += x[k] * y[k];
    return before[i] + static_cast<std::uint32_t>(four);
  }));
}

// Sums as Summation::odd_then_even of narrowgauge/matrix_unit.h.
NG_INTRINSIC __m512 _mm512_dpbf16_ps(__m512 sum, __m512bh a, __m512bh b) {
  const sim::FloatMode flushing(true);
  const auto x = emulation::as<emulation::U32>(a), y = emulation::as<emulation::U32>(b);
  const __m512 odd_x = emulation::as<__m512>(x & 0xffff0000);
  const __m512 odd_y = emulation::as<__m512>(y & 0xffff0000);
  const __m512 odd = _mm512_fmadd_ps(odd_x, odd_y, sum);
  return _mm512_fmadd_ps(emulation::as<__m512>(x << 16), emulation::as<__m512>(y << 16), odd);
}

}  // namespace narrowgauge
