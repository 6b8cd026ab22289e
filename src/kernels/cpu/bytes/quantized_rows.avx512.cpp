// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_rows.h"

#include <immintrin.h>

#include <cstring>

#include "kernels/cpu/core/assembly_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

template <int rows>
void multiply(const QuantizedProduct& p) {
  __m512i sums[rows];
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) sums[r] = _mm512_setzero_si512();
  const std::byte* panel = p.columns.weights;
  const std::byte* fours = p.rows;
  for (std::int64_t g = 0; g < p.columns.groups; ++g, panel += 64, fours += 4) {
    const __m512i columns = _mm512_loadu_si512(panel);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) {
      std::int32_t four;
      std::memcpy(&four, fours + r * p.row_bytes, sizeof four);
      add_products_of_bytes(sums[r], _mm512_set1_epi32(four), columns);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r) _mm512_storeu_si512(p.sums + r * quantized_panel, sums[r]);
}

}  // namespace

void quantized_multiply(const QuantizedProduct& product) {
  static constexpr void (*of_rows[quantized_most_rows])(const QuantizedProduct&) = {
      multiply<1>, multiply<2>, multiply<3>, multiply<4>,  multiply<5>,  multiply<6>,
      multiply<7>, multiply<8>, multiply<9>, multiply<10>, multiply<11>, multiply<12>};
  of_rows[product.row_count - 1](product);
}

}  // namespace narrowgauge::cpu::avx512
