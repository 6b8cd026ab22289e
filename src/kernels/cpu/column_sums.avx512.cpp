// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/column_sums.h"

#include "kernels/cpu/column_sums_loops.h"
#include "kernels/cpu/simd_avx512.h"

namespace narrowgauge::cpu::avx512 {

const ColumnSums column_sums = ColumnSumLoops<Float16>::table();

}  // namespace narrowgauge::cpu::avx512
