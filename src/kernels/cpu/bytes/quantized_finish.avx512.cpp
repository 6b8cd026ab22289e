// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_finish_avx512.h"

namespace narrowgauge::cpu::avx512 {

void finish_quantized(const QuantizedFinish& finish, const QuantizedPlace& place) {
  finish_any<Sixteens>(finish, place);
}

}  // namespace narrowgauge::cpu::avx512
