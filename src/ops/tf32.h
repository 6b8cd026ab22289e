// SPDX-License-Identifier: Apache-2.0
// Contractions of f32 values as TF32 units compute them, on any CPU: operands rounded to TF32 in
// the workspace, then products and sums in f32 by the kernel that the op has for ieee. Contractions
// are linear in their first two operands; a third is added in f32 as it is.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// tf32: operands to nearest even, as cuBLAS rounds them before the unit. tf32x3: x = high + low,
// high high + (high low + low high), each product summed in f32 (NVIDIA CUTLASS's 3xTF32; Ootomo,
// Yokota 2022); results that high high makes infinite or NaN stay so. Declines all other math, and
// what ieee's kernels decline.
Offer offer_tf32(const Request& request);

}  // namespace narrowgauge
