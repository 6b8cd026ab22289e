// SPDX-License-Identifier: Apache-2.0
// The sums of a block of rows, or pixels, by panels of 16 columns, which stay in registers. Only
// for *.avx512.cpp.
#pragma once

#ifdef __AVX512BW__

#include <immintrin.h>

#include "kernels/cpu/bytes/quantized_finish.h"

namespace narrowgauge::cpu::avx512 {

template <int rows, int panels>
struct ByteSums {
  __m512i sums[rows][panels];

  // `starts`: of the columns, or null for zeros.
  [[gnu::always_inline]] void begin(const std::int32_t* starts) {
#pragma GCC unroll 2
    for (int v = 0; v < panels; ++v) {
      const __m512i start =
          starts ? _mm512_loadu_si512(starts + v * quantized_panel) : _mm512_setzero_si512();
#pragma GCC unroll 14
      for (int r = 0; r < rows; ++r) sums[r][v] = start;
    }
  }
  [[gnu::always_inline]] void store(std::int32_t* to) const {
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < panels; ++v, to += quantized_panel) _mm512_storeu_si512(to, sums[r][v]);
  }
};

}  // namespace narrowgauge::cpu::avx512

#endif
