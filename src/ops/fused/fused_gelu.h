// SPDX-License-Identifier: Apache-2.0
// Kernels for groups around a Gelu on AMX tiles: a Gemm and its Gelu; or a Gemm that computes the
// gradient of a Gelu's result, the GeluGradient, and optionally the sums of its columns, which are
// the gradient of a bias. Values may be reshaped with the same rows in between.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_gelu(const Request& request);
Offer offer_fused_gelu_gradient(const Request& request);

}  // namespace narrowgauge
