// SPDX-License-Identifier: Apache-2.0
// Element conversions between the number formats, correct for every bit pattern. NaN stays NaN
// (quiet, sign and leading payload bits kept if they fit), infinities stay infinite if the format
// has them, subnormals are kept. f8e4m3fnuz and f8e5m2fnuz have one NaN, which overflow becomes,
// and one zero. The smallest formats: f4e2m1 saturates, and NaN becomes 6, as in ONNX ("Float
// stored in 4 bits") and PTX (cvt.rn.satfinite.e2m1x2); the OCP MX specification 1.0 leaves it
// open. f8e8m0 rounds ties up, rounds positive values below its least to it, and makes NaN of
// overflow, infinity, zero and negative values, as ml_dtypes does (which also rounds f32 between
// the least and 1.5 times it up).
#pragma once

#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge {

float widen(f16 value);
float widen(bf16 value);
float widen(f8e4m3fn value);
float widen(f8e5m2 value);
float widen(f8e4m3fnuz value);
float widen(f8e5m2fnuz value);
float widen(f4e2m1 value);
float widen(f8e8m0 value);
inline float widen(float value) { return value; }

// Rounds to nearest even. From double directly: going through float would round twice.
template <class Narrow>
Narrow narrow(float value);  // every float but f64; f8e4m3fn: overflow to NaN
template <class Narrow>
Narrow narrow(double value);

// Stochastic rounding: up with the probability of the remainder; `random` is uniform over 32 bits.
// Not for f8e8m0.
template <class Narrow>
Narrow narrow_stochastic(float value, std::uint32_t random);

constexpr int most_power = 127;  // f8e8m0 holds 2^-127 ... 2^127

// The roundings to f8e8m0 of ONNX's Cast: to the next power of two, the previous one, or the
// nearest, ties up. With `saturate` zero and too small values become the least, infinity and too
// large ones the largest; without it all of these become NaN. NaN and negative values always do.
enum class PowerRounding { up, down, nearest };
template <class Wide>  // float, double
f8e8m0 narrow_to_power(Wide value, PowerRounding rounding, bool saturate);

float round_to_tf32(float value);       // nearest even to 10 mantissa bits
float round_to_tf32_away(float value);  // nearest, ties away: cvt.rna.tf32
float truncate_to_tf32(float value);    // what a tensor core does to raw f32

// Reads an element of any dtype as double, by flat index (those of fewer than 8 bits are
// packed, low bits first). While denormals-are-zero is set, the CPU reads subnormal f32 and bf16 as
// 0 on their way to double.
double load_element(DType dtype, const void* data, std::int64_t index);
// Rounds to nearest even; integers saturate, NaN gives 0; bool and b1 are value != 0.
void store_element(DType dtype, void* data, std::int64_t index, double value);

// Loads an element as a whole number, exactly: the number before the point of a float, 0 for NaN.
WideInteger load_whole(DType dtype, const void* data, std::int64_t index);
// Saturates integers, rounds floats to nearest even, once; bool and b1 are value != 0.
void store_whole(DType dtype, void* data, std::int64_t index, WideInteger value);

// Keeps the low bits of a number, as machines do; of other dtypes than integers all of it.
WideInteger wrapped(WideInteger value, DType dtype);

// Copies the bits of one element of a dtype of so many bits.
void copy_element(int bits, const void* source, std::int64_t from, void* target, std::int64_t to);

// Converts `count` elements, rounding as store_element does, and only once: even i64 and u64.
void convert_elements(DType from, const void* source, DType to, void* target, std::int64_t count);
// The low bits of `count` whole numbers, as elements of an integer dtype.
void wrap_elements(DType from, const void* source, DType to, void* target, std::int64_t count);

}  // namespace narrowgauge
