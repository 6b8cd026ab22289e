// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_rows.h"

#include <immintrin.h>

#include "kernels/cpu/bytes/byte_sums_avx512.h"
#include "kernels/cpu/lanes/assembly_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr int half_rows = quantized_most_rows / 2;  // that broadcast() reaches
constexpr std::int64_t bytes_ahead = 1024;          // of a panel, that are prefetched

template <int rows, int panels>
struct SumsOfRows : ByteSums<rows, panels> {
  using ByteSums<rows, panels>::sums;

  // Rows from `row` on of those that begin with `first`.
  template <int row, int first>
  [[gnu::always_inline]] void add(const std::byte* fours, const Pitches& pitch,
                                  const __m512i (&columns)[panels]) {
    if constexpr (row < half_rows && first + row < rows) {
      const __m512i four = broadcast<row>(fours, pitch);
#pragma GCC unroll 2
      for (int v = 0; v < panels; ++v)
        add_products_of_bytes(sums[first + row][v], four, columns[v]);
      add<row + 1, first>(fours, pitch, columns);
    }
  }
};

template <int rows, int panels>
void multiply(const QuantizedProduct& p) {
  const Pitches pitch{p.row_bytes, 3 * p.row_bytes, 5 * p.row_bytes};
  const std::byte *panel = p.columns.weights, *next = p.next;
  const std::byte *upper = p.rows, *lower = p.rows + half_rows * p.row_bytes;
  SumsOfRows<rows, panels> all;
  all.begin(p.starts);
  for (std::int64_t g = 0; g < p.columns.groups; ++g, panel += 64, next += 64) {
    __m512i columns[panels];
#pragma GCC unroll 2
    for (int v = 0; v < panels; ++v) {
      columns[v] = _mm512_loadu_si512(panel + v * p.panel_bytes);
      __builtin_prefetch(panel + v * p.panel_bytes + bytes_ahead);
    }
    __builtin_prefetch(next, 0, 2);
    all.template add<0, 0>(upper + 4 * g, pitch, columns);
    all.template add<0, half_rows>(lower + 4 * g, pitch, columns);
  }
  all.store(p.sums);
}

template <int panels>
void multiply_panels(const QuantizedProduct& product) {
  static constexpr void (*of_rows[quantized_most_rows])(const QuantizedProduct&) = {
      multiply<1, panels>,  multiply<2, panels>,  multiply<3, panels>,  multiply<4, panels>,
      multiply<5, panels>,  multiply<6, panels>,  multiply<7, panels>,  multiply<8, panels>,
      multiply<9, panels>,  multiply<10, panels>, multiply<11, panels>, multiply<12, panels>,
      multiply<13, panels>, multiply<14, panels>};
  of_rows[product.row_count - 1](product);
}

}  // namespace

void quantized_multiply(const QuantizedProduct& product) {
  product.panels == 2 ? multiply_panels<2>(product) : multiply_panels<1>(product);
}

}  // namespace narrowgauge::cpu::avx512
