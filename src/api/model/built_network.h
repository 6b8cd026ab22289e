// SPDX-License-Identifier: Apache-2.0
// Calls the functions by which a program makes networks, and looks at what they return.
#pragma once

#include "narrowgauge/network.h"
#include "narrowgauge/step.h"

namespace narrowgauge {

// The prediction. Throws UsageError for an empty function and for a value that is none of the
// network's; one that names its outputs may return none.
Value built_prediction(Network& network, const BuildNetwork& build);
Value built_loss(Network& network, const Loss& loss, Value prediction);  // throws so too
Value built_objective(Network& network, const Objective& objective);     // throws so too

}  // namespace narrowgauge
