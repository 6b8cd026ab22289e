// SPDX-License-Identifier: Apache-2.0
// A convolution, or a normalization of groups of channels, and the elementwise ops behind it, which
// run over each part of its result while that is in the cache: a residual is added and an
// activation computed without another pass over memory.
#pragma once

#include "narrowgauge/graph.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Whether some kernel tells when parts of the node's result are stored.
bool may_be_finished(const Node& node);

// The node of a group's body that is such a one, alone beside elementwise ops; -1: none.
int finished_node(const Graph& body);
int finished_convolution(const Graph& body);  // that, where it is a convolution

// Offers to run a group of this form, for a convolution with a result in f32 of which tiles of
// pixels, panels of f32, or oneDNN, are the first to take it; other kernels do not tell when parts
// of the result are stored.
Offer offer_finished_tiles(const Request& request);
Offer offer_finished_panels(const Request& request);
Offer offer_finished_onednn(const Request& request);

// The same for a GroupNormalization or InstanceNormalization, also of narrow images.
Offer offer_finished_groups(const Request& request);

}  // namespace narrowgauge
