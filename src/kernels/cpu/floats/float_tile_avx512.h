// SPDX-License-Identifier: Apache-2.0
// Sums of pixels by vectors of 16 channels in registers: they begin with the bias, and are stored
// with a residual and within bounds.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <limits>

#include "kernels/cpu/floats/float_results.h"

namespace narrowgauge::cpu::avx512 {

inline constexpr int lanes = 16;

template <int pixels, int vectors>
struct FloatTile {
  __m512 sums[pixels][vectors];
  __mmask16 masks[vectors];  // of channels that there are

  [[gnu::always_inline]] explicit FloatTile(const FloatResults& to) {
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t left = to.channels - v * lanes;
      masks[v] = static_cast<__mmask16>(left >= lanes ? 0xffff : (1 << left) - 1);
      const __m512 bias =
          to.bias ? _mm512_maskz_loadu_ps(masks[v], to.bias + v * lanes) : _mm512_setzero_ps();
#pragma GCC unroll 14
      for (int p = 0; p < pixels; ++p) sums[p][v] = bias;
    }
  }

  [[gnu::always_inline]] void store(const FloatResults& to) {
    if (to.residual) add_residual(to);
    keep_within(to.bounds);
    if (to.streams)
      each([&](__m512 sum, int p, int v) {
        _mm512_stream_ps(to.y + p * to.pitch + v * lanes, sum);
        return sum;
      });
    else
      each([&](__m512 sum, int p, int v) {
        _mm512_mask_storeu_ps(to.y + p * to.pitch + v * lanes, masks[v], sum);
        return sum;
      });
  }

 private:
  // Changes all sums in one way before the next change, so that nothing branches between them.
  template <class Change>
  [[gnu::always_inline]] void each(const Change& changed) {
#pragma GCC unroll 14
    for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) sums[p][v] = changed(sums[p][v], p, v);
  }

  [[gnu::always_inline]] void add_residual(const FloatResults& to) {
    each([&](__m512 sum, int p, int v) {
      const float* const residual = to.residual + p * to.pitch + v * lanes;
      return _mm512_add_ps(sum, _mm512_maskz_loadu_ps(masks[v], residual));
    });
  }

  // The second operand of a minimum or maximum is its result where it is NaN.
  [[gnu::always_inline]] void keep_within(const FloatBounds& bounds) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const __m512 least = _mm512_set1_ps(bounds.least), most = _mm512_set1_ps(bounds.most);
    if (bounds.least > -infinity)
      each([&](__m512 sum, int, int) { return _mm512_max_ps(least, sum); });
    if (bounds.most < infinity)
      each([&](__m512 sum, int, int) { return _mm512_min_ps(most, sum); });
  }
};

}  // namespace narrowgauge::cpu::avx512
