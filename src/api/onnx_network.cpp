// SPDX-License-Identifier: Apache-2.0
#include "api/onnx_network.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/onnx/import.h"
#include "io/onnx/import/types.h"
#include "passes/rebuild.h"
#include "passes/recognize_forms.h"

namespace narrowgauge {

BuildNetwork onnx_network(const onnx::Model& model,
                          const std::map<std::string, TensorType>& types) {
  const auto imported =
      std::make_shared<const Graph>(recognize_forms(onnx::import_graph(model, {.types = types})));
  require<ModelError>(!imported->outputs().empty(), "the model has no output");
  return [imported](Network& network) {
    Rebuild rebuild(*imported, std::move(network.graph()));
    for (int i = 0; i < static_cast<int>(imported->nodes().size()); ++i) rebuild.copy(i);
    network.graph() = std::move(rebuild.graph());
    if (network.mode() == Mode::evaluate)
      for (const GraphOutput& output : imported->outputs())
        network.graph().output(output.name, rebuild.mapped(output.value));
    return rebuild.mapped(imported->outputs()[0].value);
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
