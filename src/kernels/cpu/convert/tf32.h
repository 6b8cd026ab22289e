// SPDX-License-Identifier: Apache-2.0
// Rounds f32 values to TF32: 8 bits of exponent, 10 of mantissa, the other 13 zero. Takes whole
// arrays, on all threads unless nested; correct whatever MXCSR says.
#pragma once

#include <cstdint>

namespace narrowgauge::cpu {

// out[i] = in[i] to nearest even, as in round_to_tf32(); `out` may be `in`.
void round_to_tf32(const float* in, float* out, std::int64_t count);

// in = high + low, both TF32: high is rounded to nearest even, or toward zero if that would be
// infinite; low is the rest, to nearest even; 0 for infinities and NaNs. `high` may be `in`. The
// error is at most 2^-22 of the value (Ootomo, Yokota 2022, section 3.1, with another rounding).
void split_tf32(const float* in, float* high, float* low, std::int64_t count);

// sums[i] += a[i] + b[i] if sums[i] is finite; other sums stay, since corrections to an infinite
// product are not numbers.
void add_corrections(const float* a, const float* b, float* sums, std::int64_t count);

}  // namespace narrowgauge::cpu
