// SPDX-License-Identifier: Apache-2.0
// Kernels of If, Loop and Scan that prepare their regions once.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// These offers decline operands that are not dense, and regions with values that PreparedGraph
// refuses.
Offer offer_prepared_if(const Request& request);
Offer offer_prepared_loop(const Request& request);
Offer offer_prepared_scan(const Request& request);

}  // namespace narrowgauge
