// SPDX-License-Identifier: Apache-2.0
// Puts ng.Fused nodes in the place of nodes that a pattern of the group table describes and a
// kernel takes (groups/group.h).
#pragma once

#include "passes/fusion/groups.h"

namespace narrowgauge {

// The groups of a graph that is laid out. For each pattern and each node around which it fits: of
// its choices, the first that is convex and that a kernel takes.
Groups find_groups(const Graph& graph, const Target& target);

Graph form_groups(const Graph& graph, const Target& target);

}  // namespace narrowgauge
