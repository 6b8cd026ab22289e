// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/core/row_math.h"

#include "kernels/cpu/core/row_math_loops.h"
#include "kernels/cpu/core/simd_avx512.h"

namespace narrowgauge::cpu::avx512 {

const RowMath row_math = RowLoops<Float16>::table();

}  // namespace narrowgauge::cpu::avx512
