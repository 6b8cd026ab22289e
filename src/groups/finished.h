// SPDX-License-Identifier: Apache-2.0
// A convolution and the elementwise ops behind it, which run over each part of its result while
// that is in the cache: a residual is added and an activation computed without another pass over
// memory.
#pragma once

#include "narrowgauge/graph.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// The node of a group's body that is such a convolution, alone beside elementwise ops; -1: none.
int finished_convolution(const Graph& body);

// Offers to run a group of this form, for a convolution with a result in f32 of which tiles of
// pixels, panels of f32, or oneDNN, are the first to take it; other kernels do not tell when parts
// of the result are stored.
Offer offer_finished_tiles(const Request& request);
Offer offer_finished_panels(const Request& request);
Offer offer_finished_onednn(const Request& request);

}  // namespace narrowgauge
