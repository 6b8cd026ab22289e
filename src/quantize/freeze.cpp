// SPDX-License-Identifier: Apache-2.0
#include "quantize/freeze.h"

#include <algorithm>

#include "ops/composition/interpret.h"
#include "ops/pointwise/cast.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/core/operands.h"
#include "passes/core/rebuild.h"
#include "passes/simplify/remove_dead_code.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

Graph freeze(const Graph& graph, const std::function<Tensor(std::string_view)>& value_of) {
  for (const State& state : graph.states())
    require(state.next == state.current, "graph ", graph.name(), ": state '", state.name,
            "' changes, a frozen network has none that do");
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (node.is<StateValue>())
      rebuild.map({i, 0}, rebuild.graph().constant(value_of(node.name), node.name));
    else
      rebuild.copy(i);
  }
  Graph frozen = std::move(rebuild.graph());
  for (const GraphOutput& output : graph.outputs())
    frozen.output(output.name, rebuild.mapped(output.value));
  return frozen;
}

Graph with_narrow_constants(const Graph& graph) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    const bool narrows = node.is<Cast>() && is_narrow(node.as<Cast>().to);
    const Tensor* const constant =
        narrows ? graph.constant_value(viewed(graph, node.input(0))) : nullptr;
    if (constant && is_known(node.outputs[0].type.shape))
      rebuild.map(
          {i, 0},
          rebuild.graph().constant(
              constant->cast(node.as<Cast>().to).reshaped(known_dims(node.outputs[0].type.shape)),
              node.full_name()));
    else
      rebuild.copy(i);
  }
  return remove_dead_code(rebuild.finish());
}

bool is_quantized(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [](const Node& node) { return node.is<QuantizeLinear>(); });
}

namespace {

bool quantizes_constants(const Graph& graph, const Node& node) {
  return node.is<QuantizeLinear>() && std::ranges::all_of(node.inputs, [&](Value value) {
           return value.is_absent() || graph.constant_value(value) != nullptr;
         });
}

}  // namespace

Graph with_byte_constants(const Graph& graph) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (quantizes_constants(graph, node))
      rebuild.map({i, 0},
                  rebuild.graph().constant(interpret_node(graph, node).at(0), node.full_name()));
    else
      rebuild.copy(i);
  }
  return remove_dead_code(rebuild.finish());
}

Graph without_rounding(const Graph& graph) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    const bool undoes =
        node.is<DequantizeLinear>() && graph.producer(node.input(0)).is<QuantizeLinear>();
    if (undoes)
      rebuild.map({i, 0}, rebuild.mapped(graph.producer(node.input(0)).input(0)));
    else
      rebuild.copy(i);
  }
  return remove_dead_code(rebuild.finish());
}

}  // namespace narrowgauge
