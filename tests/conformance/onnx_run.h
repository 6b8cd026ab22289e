// SPDX-License-Identifier: Apache-2.0
// Runs a model file of ONNX's backend tests as users of the library would, on the tensors beside
// it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/onnx/import.h"
#include "io/onnx/value.h"
#include "ops/control/interpret.h"

namespace narrowgauge::testing {

// Which of the model's inputs are known when it is imported: many ops need shapes, axes and the
// like then.
enum class Known { none, all_but_first, all };

// A value of a model: a tensor, the elements of a sequence, what is in an optional.
using OnnxValue = std::vector<Tensor>;

inline std::vector<OnnxValue> read_values(const std::filesystem::path& folder,
                                          const std::string& kind,
                                          const std::vector<onnx::ValueInfo>& infos) {
  std::vector<OnnxValue> values;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const auto path = folder / (kind + "_" + std::to_string(i) + ".pb");
    if (!std::filesystem::exists(path)) break;
    values.emplace_back();
    for (const onnx::TensorData& tensor : onnx::read_value(path.string(), *infos[i].type))
      values.back().push_back(onnx::tensor_of(tensor));
  }
  return values;
}

inline bool is_tensor(const onnx::ValueInfo& info) {
  return info.type && std::holds_alternative<onnx::DenseTensorType>(info.type->kind);
}

// All outputs, one tensor after another.
inline std::vector<Tensor> run_onnx(const onnx::Model& model, const std::vector<OnnxValue>& inputs,
                                    Known known, bool reference) {
  onnx::ImportOptions options;
  std::vector<Tensor> fed;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const onnx::ValueInfo& info = model.graph.inputs[i];
    const bool constant = known == Known::all || (known == Known::all_but_first && i > 0);
    if (constant || !is_tensor(info)) {
      options.known[info.name] = {inputs[i]};
    } else {
      options.types[info.name] = inputs[i].at(0).type();
      fed.push_back(inputs[i][0]);
    }
  }
  const Graph graph = onnx::import_graph(model, options);
  std::map<std::string, Tensor> states;
  for (const State& state : graph.states()) states[state.name] = state.initial.data;
  return interpret(graph, fed, {.reference = reference, .states = &states});
}

}  // namespace narrowgauge::testing
