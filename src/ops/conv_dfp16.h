// SPDX-License-Identifier: Apache-2.0
// Convolutions in block dynamic fixed point, with images channels-last.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_conv_dfp16(const Request& request);
Offer offer_data_gradient_dfp16(const Request& request);
Offer offer_weight_gradient_dfp16(const Request& request);

}  // namespace narrowgauge
