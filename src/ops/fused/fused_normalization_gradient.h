// SPDX-License-Identifier: Apache-2.0
// The kernel for groups that pass a gradient back through a normalization: an optional
// ConvDataGradient, Add and ReluGradient, then one or two BatchNormalizationGradients in training
// that read the result. On images in batch-inner blocks.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_normalization_gradient(const Request& request);

}  // namespace narrowgauge
