// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention/attention_loops.h"
#include "kernels/cpu/lanes/simd_avx512.h"

namespace narrowgauge::cpu::avx512 {

const AttentionMath attention_math = AttentionLoops<Float16>::math();
const AttentionEngine attention_engine = AttentionLoops<Float16>::engine();

}  // namespace narrowgauge::cpu::avx512
