// SPDX-License-Identifier: Apache-2.0
// The kernel for groups that lead a gradient back through a normalization: a ConvDataGradient, an
// Add and a ReluGradient, each of them or not, then one or two BatchNormalizationGradients in
// training that read what these give. On images in batch-inner blocks.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_normalization_gradient(const Request& request);

}  // namespace narrowgauge
