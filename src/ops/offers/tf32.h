// SPDX-License-Identifier: Apache-2.0
// Contractions of f32 values as TF32 units compute them, on any CPU: operands are rounded to TF32
// in the workspace, then the op's kernel for ieee computes products and sums in f32. Contractions
// are linear in their first two operands; a third is added in f32 unrounded.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// tf32 rounds operands to nearest even, as cuBLAS does before the unit. tf32x3 takes x = high + low
// and computes high high + (high low + low high), each product summed in f32 (NVIDIA CUTLASS's
// 3xTF32; Ootomo, Yokota 2022); results that high high makes infinite or NaN stay so. Declines all
// other math, and what ieee's kernels decline.
Offer offer_tf32(const Request& request);

}  // namespace narrowgauge
