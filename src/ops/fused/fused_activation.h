// SPDX-License-Identifier: Apache-2.0
// Kernels for groups around a Relu, on images in batch-inner blocks: a Conv and its Relu; or a
// gradient passing back through a Relu: an optional ConvDataGradient, an optional Add, a
// ReluGradient, and optionally the sums of its channels.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_activation(const Request& request);
Offer offer_fused_activation_gradient(const Request& request);

}  // namespace narrowgauge
