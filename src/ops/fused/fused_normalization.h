// SPDX-License-Identifier: Apache-2.0
// The kernel for groups around a BatchNormalization in training: optionally the Conv before it, and
// after it an Add and a Relu, a Relu alone, or nothing. On images in batch-inner blocks.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_normalization(const Request& request);

}  // namespace narrowgauge
