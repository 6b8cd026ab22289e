// SPDX-License-Identifier: Apache-2.0
// The kernel for groups around a BatchNormalization in training: the Conv before it, or not; an Add
// and a Relu, or a Relu alone, or nothing after it. On images in batch-inner blocks.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_normalization(const Request& request);

}  // namespace narrowgauge
