// SPDX-License-Identifier: Apache-2.0
// Convolutions on the tiles of AMX, with images in batch-inner blocks; the first of a network reads
// plain images.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_conv_tiles(const Request& request);
Offer offer_data_gradient_tiles(const Request& request);
Offer offer_weight_gradient_tiles(const Request& request);

}  // namespace narrowgauge
