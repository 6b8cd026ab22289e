// SPDX-License-Identifier: Apache-2.0
// Kernels for groups of a transformer: an optional Dropout, an Add and a LayerNormalization; or any
// Adds, a LayerNormalizationGradient and an optional DropoutGradient. One pass over memory.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_layer_norm(const Request& request);
Offer offer_fused_layer_norm_gradient(const Request& request);

}  // namespace narrowgauge
