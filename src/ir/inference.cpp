// SPDX-License-Identifier: Apache-2.0
#include "ir/inference.h"

#include <utility>

namespace narrowgauge {

InputTypes types_of(const Graph& graph, const Values& inputs) {
  InputTypes types;
  for (const Value& value : inputs)
    types.push_back(value.is_absent() ? std::nullopt : std::optional(graph.type(value)));
  return types;
}

Inference inference_of(const Graph& graph, const OpRecord& op, const Values& inputs,
                       InputTypes types) {
  std::vector<const Tensor*> constants;
  std::vector<const Shape*> numbers;
  for (const Value& value : inputs) {
    const ValueInfo* const info = value.is_absent() ? nullptr : &graph.info(value);
    constants.push_back(info ? graph.constant_value(value) : nullptr);
    numbers.push_back(info && info->numbers ? &*info->numbers : nullptr);
  }
  return {op, std::move(types), std::move(constants), std::move(numbers)};
}

Inference inference_of(const Graph& graph, const OpRecord& op, const Values& inputs) {
  return inference_of(graph, op, inputs, types_of(graph, inputs));
}

}  // namespace narrowgauge
