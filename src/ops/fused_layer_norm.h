// SPDX-License-Identifier: Apache-2.0
// The kernels for groups of a transformer: a Dropout or none, an Add and a LayerNormalization; and
// Adds or none, a LayerNormalizationGradient and a DropoutGradient or none. One pass over memory.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_fused_layer_norm(const Request& request);
Offer offer_fused_layer_norm_gradient(const Request& request);

}  // namespace narrowgauge
