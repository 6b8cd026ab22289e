// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reduce/column_sums.h"

#include "kernels/cpu/lanes/simd_avx512.h"
#include "kernels/cpu/reduce/column_sums_loops.h"

namespace narrowgauge::cpu::avx512 {

const ColumnSums column_sums = ColumnSumLoops<Float16>::table();

}  // namespace narrowgauge::cpu::avx512
