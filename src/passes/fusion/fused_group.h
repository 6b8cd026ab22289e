// SPDX-License-Identifier: Apache-2.0
// Groups of nodes as ng.Fused nodes: the body, whether a kernel takes it, and its place in the new
// graph.
#pragma once

#include <set>
#include <vector>

#include "groups/fused.h"
#include "passes/core/rebuild.h"
#include "passes/fusion/groups.h"

namespace narrowgauge {

struct FusedGroup {
  Values inputs, outputs;  // of the old graph
  Fused op;
};

// The values that are read outside their group.
std::set<Value> values_read_outside(const Graph& graph, const Groups& groups);

// Builds a group of the members in their order; their values that are in `read` become outputs.
FusedGroup build_group(const Graph& graph, const std::vector<int>& members,
                       const std::set<Value>& read);

// Whether a kernel other than the interpreter takes the group.
bool is_offered(const Graph& graph, const FusedGroup& group, const Target& target);

// Puts every group that a kernel other than the interpreter takes in the place of its members.
Graph fuse_groups(const Graph& graph, Groups groups, const Target& target);

}  // namespace narrowgauge
