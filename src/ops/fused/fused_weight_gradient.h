// SPDX-License-Identifier: Apache-2.0
// The kernel for a ConvWeightGradient whose x is normalized again, optionally followed by a Relu,
// while it is packed. On images in batch-inner blocks.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_weight_gradient(const Request& request);

}  // namespace narrowgauge
