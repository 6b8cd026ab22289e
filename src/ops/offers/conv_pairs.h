// SPDX-License-Identifier: Apache-2.0
// Convolutions on pairs of 16-bit values, with images channels-last.
#pragma once

#include "kernels/cpu/pairs/pair_products.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_conv_pairs(cpu::PairFormat format, const Request& request);
Offer offer_data_gradient_pairs(cpu::PairFormat format, const Request& request);
Offer offer_weight_gradient_pairs(cpu::PairFormat format, const Request& request);

}  // namespace narrowgauge
