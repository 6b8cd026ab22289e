// SPDX-License-Identifier: Apache-2.0
#include "passes/fusion/fuse_elementwise.h"

#include <algorithm>

#include "base/enumerate.h"
#include "ir/readers.h"
#include "ops/control/control_flow.h"
#include "passes/core/rebuild.h"
#include "passes/fusion/fused_group.h"
#include "passes/fusion/strip_members.h"

namespace narrowgauge {

namespace {

// The inputs that only this node reads and that dequantise in its place: they join with it.
std::vector<int> own_dequantizers(const Graph& graph, const Readers& readers, int reader) {
  std::vector<int> found;
  const Node& node = graph.node(reader);
  for (const Value& input : node.inputs)
    if (!input.is_absent() && dequantizes_in_strips(graph, graph.producer(input)) &&
        readers.only(input) == reader && same_place(graph.info(input), node.outputs[0]))
      found.push_back(input.node);
  std::ranges::sort(found);
  return found;
}

// The first group of an input that `count` more members may join; -1: none.
int group_to_join(const Graph& graph, const Groups& groups, int node, std::size_t count) {
  for (const Value& input : graph.node(node).inputs) {
    const int group = input.is_absent() ? -1 : groups.group_of(input.node);
    if (group < 0 || groups.members(group).size() + count > most_strip_members) continue;
    const ValueInfo& place = graph.info({groups.members(group)[0], 0});
    if (same_place(place, graph.node(node).outputs[0]) && groups.can_join(node, group))
      return group;
  }
  return -1;
}

Groups find_groups(const Graph& graph) {
  Groups groups(graph);
  const Readers readers(graph);
  for (const auto& [i, node] : enumerate(graph.nodes())) {
    if (!runs_in_strips(graph, node) || dequantizes_in_strips(graph, node)) continue;
    std::vector<int> members = own_dequantizers(graph, readers, i);
    members.push_back(i);
    int group = group_to_join(graph, groups, i, members.size());
    for (const int member : members)
      if (group < 0)
        group = groups.start(member);
      else
        groups.join(member, group);
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

// Fuses inside of the regions of control flow.
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

// The input of a node that runs in strips, dequantised once more where it is.
Value own_dequantized(Rebuild& rebuild, Value input) {
  const Graph& graph = rebuild.source();
  if (input.is_absent() || !dequantizes_in_strips(graph, graph.producer(input)))
    return rebuild.mapped(input);
  const Node& node = graph.producer(input);
  NodeOptions options = options_of(node);
  options.name = rebuild.graph().unique_name(node.name + ".own");
  if (options.origin.empty()) options.origin = node.full_name();
  return rebuild.graph().add(*node.op, node.attributes, rebuild.mapped(node.inputs),
                             std::move(options));
}

// Each reader that runs in strips gets a DequantizeLinear of its own beside it, so that its group
// reads bytes.
Graph with_own_dequantizers(const Graph& graph) {
  Rebuild rebuild(graph);
  const Readers readers(graph);
  const auto in_strips = [&](int node) { return runs_in_strips(graph, graph.node(node)); };
  for (const auto& [i, node] : enumerate(graph.nodes())) {
    if (dequantizes_in_strips(graph, node) && !readers.leaves({i, 0}) &&
        std::ranges::all_of(readers.of({i, 0}), in_strips))
      continue;
    if (!in_strips(i)) {
      rebuild.copy(i);
      continue;
    }
    Values inputs;
    for (const Value& input : node.inputs) inputs.push_back(own_dequantized(rebuild, input));
    rebuild.copy(i, node.attributes, inputs);
  }
  return rebuild.finish();
}

}  // namespace

Graph fuse_elementwise(const Graph& graph, const Target& target) {
  const bool regions = std::ranges::any_of(graph.nodes(), has_regions_that_run);
  const Graph inside = with_own_dequantizers(regions ? fuse_in_regions(graph, target) : graph);
  return fuse_groups(inside, find_groups(inside), target);
}

}  // namespace narrowgauge
