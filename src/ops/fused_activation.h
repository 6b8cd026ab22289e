// SPDX-License-Identifier: Apache-2.0
// Kernels for groups around a Relu, on images in batch-inner blocks: a Conv and its Relu; and a
// gradient's way back through a Relu, which is a ConvDataGradient or not, an Add or not, a
// ReluGradient, and the sums of its channels or not.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_activation(const Request& request);
Offer offer_fused_activation_gradient(const Request& request);

}  // namespace narrowgauge
