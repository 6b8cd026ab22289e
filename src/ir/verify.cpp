// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/attributes.h"
#include "ir/inference.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

namespace {

template <class... Parts>
void rule(bool holds, const Graph& graph, const Node& node, const Parts&... message) {
  require<InternalError>(holds, "graph ", graph.name(), ", node '", node.full_name(),
                         "': ", message...);
}

void verify_types(const Graph& graph, const Node& node) {
  const TensorTypes inferred =
      node.op->infer(node.attributes.get(), inference_of(graph, *node.op, node.inputs));
  rule(inferred.size() == node.outputs.size(), graph, node, "has ", node.outputs.size(),
       " outputs, its op makes ", inferred.size());
  for (std::size_t i = 0; i < inferred.size(); ++i)
    rule(inferred[i] == node.outputs[i].type, graph, node, "output ", i, " is ",
         node.outputs[i].type, ", its op makes ", inferred[i]);
}

bool fits(const Storage& storage, const TensorType& type) {
  const std::size_t rank = type.shape.size();
  return (storage.order.empty() || storage.order.size() == rank) &&
         std::all_of(storage.blocks.begin(), storage.blocks.end(), [rank](const auto& block) {
           return block.axis >= 0 && static_cast<std::size_t>(block.axis) < rank && block.size >= 1;
         });
}

// How often the lists of a graph name each node.
struct Listed {
  explicit Listed(const Graph& graph) {
    for (const Value& input : graph.inputs()) ++inputs[input.node];
    for (const State& state : graph.states()) ++states[state.current.node];
  }
  std::unordered_map<int, int> inputs{}, states{};
};

// Checks that the graph's lists and its nodes name each other.
void verify_source(const Graph& graph, int index, const Listed& listed) {
  const Node& node = graph.node(index);
  const auto once = [&](const std::unordered_map<int, int>& list) {
    const auto found = list.find(index);
    return found != list.end() && found->second == 1;
  };
  if (node.is<Input>()) rule(once(listed.inputs), graph, node, "is not among the graph's inputs");
  if (node.is<StateValue>())
    rule(once(listed.states), graph, node, "belongs to no state, or to several");
}

void verify_node(const Graph& graph, int index, Stage stage, const Listed& listed) {
  const Node& node = graph.node(index);
  rule(node.op != nullptr, graph, node, "has no op");
  rule(node.op->info.stage <= stage, graph, node, "op ", node.op->full_name(),
       " is not legal at this stage");
  for (const Value& value : node.inputs)
    rule(value.is_absent() || value.node < index, graph, node, "an input is not an earlier value");
  verify_source(graph, index, listed);
  verify_types(graph, node);
  for (const ValueInfo& output : node.outputs) {
    rule(output.storage.is_plain() || stage >= Stage::laid_out, graph, node, "storage ",
         output.storage, " before layout");
    rule(fits(output.storage, output.type), graph, node, "storage ", output.storage,
         " does not fit ", output.type);
  }
  rule(node.math == Math::none || stage >= Stage::precise, graph, node,
       "math is set before precision");
  for (const Region& region : regions_of(node)) {
    rule(region != nullptr, graph, node, "an empty region");
    rule(region->states().empty(), graph, node, "a state inside a region");
    verify(*region, stage);
  }
}

}  // namespace

void verify(const Graph& graph, Stage stage) {
  std::set<std::string> names;
  const Listed listed(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    verify_node(graph, i, stage, listed);
    rule(names.insert(graph.node(i).full_name()).second, graph, graph.node(i), "name is taken");
  }
  for (const Value& input : graph.inputs())
    rule(graph.producer(input).is<Input>(), graph, graph.producer(input), "is not an input");
  for (const State& state : graph.states()) {
    const Node& node = graph.producer(state.current);
    rule(node.is<StateValue>(), graph, node, "is not a state");
    rule(graph.type(state.next) == state.type, graph, node, "state holds ", state.type,
         ", next is ", graph.type(state.next));
    rule((state.role == Role::derived) == (state.derivation != nullptr), graph, node,
         "derived states, and only they, have a derivation");
    if (state.derivation) verify(*state.derivation, stage);
  }
  for (const GraphOutput& output : graph.outputs()) graph.info(output.value);
}

}  // namespace narrowgauge
