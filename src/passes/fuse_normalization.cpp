// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_normalization.h"

#include "ops/arithmetic.h"
#include "ops/batch_normalization.h"
#include "ops/relu.h"
#include "passes/fused_group.h"

namespace narrowgauge {

namespace {

using Readers = std::vector<std::vector<std::vector<int>>>;

// The node that reads a value, where there is just one and the value does not leave the graph.
int only_reader(const std::set<Value>& leaving, const Readers& readers, Value value) {
  const auto& all =
      readers[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  return all.size() == 1 && !leaving.contains(value) ? all[0] : -1;
}

}  // namespace

Graph fuse_normalization(const Graph& graph) {
  const Readers readers = readers_of(graph);
  std::set<Value> leaving;
  for (const State& state : graph.states()) leaving.insert(state.next);
  for (const GraphOutput& output : graph.outputs()) leaving.insert(output.value);
  Groups groups(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    if (!graph.node(i).is<BatchNormalization>()) continue;
    int next = only_reader(leaving, readers, {i, 0});
    const int add = next >= 0 && graph.node(next).is<Add>() ? next : -1;
    if (add >= 0) next = only_reader(leaving, readers, {add, 0});
    if (next < 0 || !graph.node(next).is<Relu>() || groups.group_of(next) >= 0) continue;
    const int group = groups.start(i);
    if (add >= 0 && !groups.can_join(add, group)) {
      groups.dissolve(group);
      continue;
    }
    if (add >= 0) groups.join(add, group);
    groups.join(next, group);
  }
  return fuse_groups(graph, std::move(groups));
}

}  // namespace narrowgauge
