// SPDX-License-Identifier: Apache-2.0
// The kernel for groups of a BatchNormalization in training, an Add or none, and a Relu, on images
// in batch-inner blocks.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_normalization(const Request& request);

}  // namespace narrowgauge
