// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/lanes/row_math.h"

#include "kernels/cpu/lanes/row_math_loops.h"
#include "kernels/cpu/lanes/simd_avx512.h"

namespace narrowgauge::cpu::avx512 {

const RowMath row_math = RowLoops<Float16>::table();

}  // namespace narrowgauge::cpu::avx512
