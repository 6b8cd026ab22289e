// SPDX-License-Identifier: Apache-2.0
// Replaces ops that nothing computes but their parts by these parts, so that they fuse and lie in
// memory as any others; where there are gradients, also ops whose gradients are those of their
// parts. Also in regions. Contractions among them keep the math asked of the whole.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph decompose(const Graph& graph);

}  // namespace narrowgauge
