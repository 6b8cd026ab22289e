// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/lanes/row_math.h"

#include "base/machine/cpu.h"
#include "kernels/cpu/lanes/row_math_loops.h"
#include "kernels/cpu/lanes/simd.h"

namespace narrowgauge::cpu {

const RowMath baseline_row_math = RowLoops<Float8>::table();

const RowMath& row_math() {
  static const RowMath& chosen = isa() >= Isa::avx512 ? avx512::row_math : baseline_row_math;
  return chosen;
}

}  // namespace narrowgauge::cpu
