// SPDX-License-Identifier: Apache-2.0
// The switch that forbids TF32 (8 bits of exponent, 10 of mantissa) where contractions of f32
// values would round their operands to it.
#pragma once

#include <string_view>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Forbids TF32 in the whole program, or allows it again, for whatever is compiled from then on.
// Where it is forbidden, tf32 and tf32x3 compute in ieee. Allowing does not ask for TF32;
// PrecisionRequest::f32_math does. NARROWGAUGE_TF32_OVERRIDE=0 forbids it whatever the program
// says, as NVIDIA_TF32_OVERRIDE=0 does in CUDA's libraries.
NG_API void allow_tf32(bool allowed);
// Throws UsageError where NARROWGAUGE_TF32_OVERRIDE is set to anything but 0.
NG_API bool tf32_allowed();
// What forbids TF32: "NARROWGAUGE_TF32_OVERRIDE=0" or "allow_tf32(false)"; "" if it is allowed.
NG_API std::string_view tf32_forbidden_by();
// Whether a contraction with this math gets operands rounded to TF32.
NG_API bool rounds_to_tf32(Math math, const Target& target);
// Whether only kernels made for it compute this math: one that rounds to TF32, or a simulated one.
NG_API bool rounds_operands(Math math, const Target& target);

}  // namespace narrowgauge
