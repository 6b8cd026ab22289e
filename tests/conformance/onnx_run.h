// SPDX-License-Identifier: Apache-2.0
// Runs a model file of ONNX's backend tests as users of the library would, on the tensors beside
// it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/onnx/import.h"
#include "io/onnx/value.h"
#include "ops/composition/interpret.h"

namespace narrowgauge::testing_support {

// Which of the model's inputs are known when it is imported: many ops need shapes, axes and the
// like then.
enum class Known { none, all_but_first, all };

// A value of a model: a tensor, the elements of a sequence, what is in an optional; or texts.
using OnnxValue = onnx::KnownInput;

inline std::vector<OnnxValue> read_values(const std::filesystem::path& folder,
                                          const std::string& kind,
                                          const std::vector<onnx::ValueInfo>& infos) {
  std::vector<OnnxValue> values;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const auto path = folder / (kind + "_" + std::to_string(i) + ".pb");
    if (!std::filesystem::exists(path)) break;
    values.emplace_back();
    for (const onnx::TensorData& tensor : onnx::read_value(path.string(), *infos[i].type))
      if (tensor.data_type == onnx::DataType::string)
        values.back().texts = onnx::texts_of(tensor);
      else
        values.back().values.push_back(onnx::tensor_of(tensor));
  }
  return values;
}

inline bool is_tensor(const onnx::ValueInfo& info, const OnnxValue& value) {
  return info.type && std::holds_alternative<onnx::DenseTensorType>(info.type->kind) &&
         !value.texts;
}

struct OnnxResults {
  std::vector<Tensor> tensors;  // all outputs of numbers, one tensor after another
  std::map<std::string, onnx::Texts> texts;
};

inline OnnxResults run_onnx(const onnx::Model& model, const std::vector<OnnxValue>& inputs,
                            Known known, bool reference) {
  onnx::ImportOptions options;
  std::vector<Tensor> fed;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const onnx::ValueInfo& info = model.graph.inputs[i];
    const bool constant = known == Known::all || (known == Known::all_but_first && i > 0);
    if (constant || !is_tensor(info, inputs[i])) {
      options.known[info.name] = inputs[i];
    } else {
      options.types[info.name] = inputs[i].values.at(0).type();
      fed.push_back(inputs[i].values[0]);
    }
  }
  const onnx::Imported imported = onnx::import_model(model, options);
  std::map<std::string, Tensor> states;
  for (const State& state : imported.graph.states()) states[state.name] = state.initial.data;
  return {interpret(imported.graph, fed, {.reference = reference, .states = &states}),
          imported.texts};
}

}  // namespace narrowgauge::testing_support
