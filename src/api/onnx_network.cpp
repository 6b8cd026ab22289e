// SPDX-License-Identifier: Apache-2.0
#include "api/onnx_network.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/enumerate.h"
#include "io/onnx/import.h"
#include "io/onnx/import/types.h"
#include "ir/value_table.h"
#include "passes/recognize_forms.h"

namespace narrowgauge {

namespace {

// Adds the nodes, inputs and states of a graph to another; where its values are there.
ValueTable<Value> append(Graph& graph, const Graph& part) {
  ValueTable<Value> mapped(part, absent);
  for (const auto& [i, node] : enumerate(part.nodes())) {
    Value made;
    if (node.is<Input>()) {
      made = graph.input(node.name, node.as<Input>().type);
    } else if (node.is<StateValue>()) {
      made = graph.state(*part.find_state(node.name));
    } else {
      Values inputs;
      for (const Value value : node.inputs)
        inputs.push_back(value.is_absent() ? absent : mapped[value]);
      made = graph.add(*node.op, node.attributes, std::move(inputs), options_of(node));
    }
    for (const auto& [o, output] : enumerate(node.outputs)) mapped[{i, o}] = {made.node, o};
  }
  return mapped;
}

}  // namespace

BuildNetwork onnx_network(const onnx::Model& model,
                          const std::map<std::string, TensorType>& types) {
  const auto imported =
      std::make_shared<const Graph>(recognize_forms(onnx::import_graph(model, {.types = types})));
  require<ModelError>(!imported->outputs().empty(), "the model has no output");
  return [imported](Network& network) {
    const ValueTable<Value> mapped = append(network.graph(), *imported);
    if (network.mode() == Mode::evaluate)
      for (const GraphOutput& output : imported->outputs())
        network.graph().output(output.name, mapped[output.value]);
    return mapped[imported->outputs()[0].value];
  };
}

std::map<std::string, TensorType> types_with(const onnx::Model& model,
                                             const std::map<std::string, Dims>& sizes) {
  std::map<std::string, TensorType> types;
  for (const auto& [name, dims] : sizes) {
    const auto found = std::ranges::find(model.graph.inputs, name, &onnx::ValueInfo::name);
    require(found != model.graph.inputs.end(), "the model has no input '", name, "'");
    types[name] = {onnx::element_of(*found), Shape(dims.begin(), dims.end())};
  }
  return types;
}

std::string network_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  return name.empty() ? "model" : name;
}

}  // namespace narrowgauge
