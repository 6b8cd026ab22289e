// SPDX-License-Identifier: Apache-2.0
// The obvious loop over any dtype, shape and broadcast: the truth that strips are tested against.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

Offer offer_elementwise_reference(const Request& request);

}  // namespace narrowgauge
