// SPDX-License-Identifier: Apache-2.0
// Kernels for groups around a Gelu on the tiles of AMX: a Gemm and its Gelu; and a Gemm that makes
// the gradient of a Gelu's result, the GeluGradient, and the sums of its columns or not, which are
// the gradient of a bias. Values may be given other shapes of the same rows on the way.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_gelu(const Request& request);
Offer offer_fused_gelu_gradient(const Request& request);

}  // namespace narrowgauge
