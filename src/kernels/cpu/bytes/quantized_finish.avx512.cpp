// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_finish_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

// Copies, as stores of bytes might change what references refer to.
template <QuantizedResult y, QuantizedBehind behind, bool saturates>
void finish_pairs(const QuantizedFinish finish, const QuantizedPlace place) {
  using Pair = QuantizedPair<y, behind, saturates>;
  const bool plain = !finish.zeros && !finish.starts;
  std::int64_t at = 0;
  for (; at + Pair::columns <= place.columns; at += Pair::columns) {
    const Pair pair(finish, place.column + at);
    const std::int32_t* sums = place.sums + at;
    std::int64_t element = at;
    for (std::int64_t row = 0; row < place.rows; ++row) {
      const auto sixteen = [&](std::int64_t half) {
        return plain ? Sixteens::load(sums + half)
                     : sums_less_zeros<Sixteens>(finish, place, row, at + half);
      };
      pair.finish(
          sixteen(0), sixteen(quantized_panel),
          Pair::Numbers::has_residual ? place.residual + element * Pair::Numbers::r_size : nullptr,
          place.y + element * Pair::Numbers::y_size);
      sums += place.sums_pitch;
      element += place.pitch;
    }
  }
  if (at < place.columns) finish_panels<Sixteens, y, behind>(finish, place, at);
}

}  // namespace

void finish_quantized(const QuantizedFinish& finish, const QuantizedPlace& place) {
  with_quantized_types(finish, place, [&]<QuantizedResult y, QuantizedBehind behind>() {
    if constexpr (may_saturate<y, behind>)
      if (finish.saturates) return finish_pairs<y, behind, true>(finish, place);
    finish_pairs<y, behind, false>(finish, place);
  });
}

}  // namespace narrowgauge::cpu::avx512
