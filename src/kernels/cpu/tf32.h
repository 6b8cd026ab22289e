// SPDX-License-Identifier: Apache-2.0
// f32 values as TF32 has them: 8 bits of exponent, 10 of mantissa, the other 13 zero. Whole arrays,
// on all threads unless nested; right whatever MXCSR says.
#pragma once

#include <cstdint>

namespace narrowgauge::cpu {

// out[i] = in[i] to nearest even, as round_to_tf32(); `out` may be `in`.
void round_to_tf32(const float* in, float* out, std::int64_t count);

// in = high + low, both TF32: high to nearest even, toward zero where that would be infinite, low
// what is left of it, to nearest even; 0 of infinities and NaNs. `high` may be `in`. Off by at most
// 2^-22 of the value (Ootomo, Yokota 2022, section 3.1, in another rounding).
void split_tf32(const float* in, float* high, float* low, std::int64_t count);

// sums[i] += a[i] + b[i] where sums[i] is finite: what is not stays, since corrections to an
// infinite product are no numbers.
void add_corrections(const float* a, const float* b, float* sums, std::int64_t count);

}  // namespace narrowgauge::cpu
