// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_elementwise.h"

#include <algorithm>

#include "base/enumerate.h"
#include "ops/control/control_flow.h"
#include "passes/fused_group.h"
#include "passes/rebuild.h"
#include "passes/strip_members.h"

namespace narrowgauge {

namespace {

Groups find_groups(const Graph& graph) {
  Groups groups(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (!runs_in_strips(graph, node)) continue;
    int joined = -1;
    for (const Value& input : node.inputs) {
      const int group = input.is_absent() ? -1 : groups.group_of(input.node);
      if (group < 0 || joined >= 0 || groups.members(group).size() >= most_strip_members) continue;
      if (!same_place(graph.info({groups.members(group)[0], 0}), node.outputs[0])) continue;
      if (groups.can_join(i, group)) groups.join(i, joined = group);
    }
    if (joined < 0) groups.start(i);
  }
  for (int g = 0; g < groups.count(); ++g)
    if (groups.members(g).size() < 2) groups.dissolve(g);
  return groups;
}

bool has_regions_that_run(const Node& node) {
  return node.is<If>() || node.is<Loop>() || node.is<Scan>();
}

bool has_known_shapes(const Graph& graph) {
  return std::ranges::all_of(graph.nodes(), [](const Node& node) {
    return std::ranges::all_of(node.outputs, [](const ValueInfo& output) {
      return std::ranges::all_of(output.type.shape, &Dim::is_known);
    });
  });
}

// The same inside of the regions of control flow.
Graph fuse_in_regions(const Graph& graph, const Target& target) {
  Rebuild rebuild(graph);
  for (const auto& [i, node] : enumerate(graph.nodes())) {
    if (!has_regions_that_run(node)) {
      rebuild.copy(i);
      continue;
    }
    const auto fused = [&](const Graph& region) {
      return has_known_shapes(region) ? fuse_elementwise(region, target) : region;
    };
    rebuild.copy(i, with_regions(node, fused), rebuild.mapped(node.inputs));
  }
  return rebuild.finish();
}

}  // namespace

Graph fuse_elementwise(const Graph& graph, const Target& target) {
  if (std::ranges::none_of(graph.nodes(), has_regions_that_run))
    return fuse_groups(graph, find_groups(graph), target);
  const Graph inside = fuse_in_regions(graph, target);
  return fuse_groups(inside, find_groups(inside), target);
}

}  // namespace narrowgauge
