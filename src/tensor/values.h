// SPDX-License-Identifier: Apache-2.0
// Element conversions between the number formats, right for every bit pattern. NaN stays NaN
// (quiet, sign and leading payload bits kept where they fit), infinities stay infinite where the
// format has them, subnormals are kept.
#pragma once

#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge {

float widen(f16 value);
float widen(bf16 value);
float widen(f8e4m3fn value);
float widen(f8e5m2 value);
inline float widen(float value) { return value; }

// Nearest even. From double directly: going through float would round twice.
template <class Narrow>
Narrow narrow(float value);  // f16, bf16, f8e4m3fn (overflow to NaN), f8e5m2, float
template <class Narrow>
Narrow narrow(double value);

// Stochastic rounding: up with the probability of the remainder; `random` is uniform over 32 bits.
template <class Narrow>
Narrow narrow_stochastic(float value, std::uint32_t random);

float round_to_tf32(float value);       // nearest even to 10 mantissa bits
float round_to_tf32_away(float value);  // nearest, ties away: cvt.rna.tf32
float truncate_to_tf32(float value);    // what a tensor core does to raw f32

// Any dtype as double, at a flat element index (i4, u4 and b1 are packed, low bits first).
// While denormals-are-zero is set, the CPU reads subnormal f32 and bf16 as 0 on their way to
// double.
double load_element(DType dtype, const void* data, std::int64_t index);
// Nearest even; integers saturate, NaN gives 0; bool and b1 are value != 0.
void store_element(DType dtype, void* data, std::int64_t index, double value);

// `count` elements from one dtype to another, as store_element rounds, and once only: i64 too.
void convert_elements(DType from, const void* source, DType to, void* target, std::int64_t count);

}  // namespace narrowgauge
