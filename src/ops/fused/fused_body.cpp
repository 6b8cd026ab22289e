// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/fused_body.h"

#include <algorithm>

#include "ops/offers/batch_inner.h"

namespace narrowgauge {

std::vector<int> working_nodes(const Graph& body) {
  std::vector<int> nodes;
  for (int i = 0; i < static_cast<int>(body.nodes().size()); ++i)
    if (!body.node(i).is<Input>() && !body.node(i).is<Constant>()) nodes.push_back(i);
  return nodes;
}

int input_index(const Graph& body, Value value) {
  const Values& inputs = body.inputs();
  const auto found = std::find(inputs.begin(), inputs.end(), value);
  return found == inputs.end() ? -1 : static_cast<int>(found - inputs.begin());
}

int output_index(const Graph& body, Value value) {
  for (int o = 0; o < static_cast<int>(body.outputs().size()); ++o)
    if (body.outputs()[static_cast<std::size_t>(o)].value == value) return o;
  return -1;
}

int other_input(const Graph& body, const Node& node, Value known) {
  if (node.inputs.size() != 2 || (node.inputs[0] == known) == (node.inputs[1] == known)) return -1;
  return input_index(body, node.inputs[node.inputs[0] == known ? 1 : 0]);
}

std::string image_reason(const Operand& operand, const Dims& dims) {
  if (!operand.present) return {};
  const DType dtype = operand.dtype;
  const bool known = dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::f32;
  if (!known || !lies_batch_inner(operand))
    return concat("an image of ", operand.dtype, " in ", operand.storage);
  return operand.dims == dims ? "" : "images are broadcast";
}

std::string vector_reason(const Operand& operand) {
  if (!operand.present || (operand.dtype == DType::f32 && operand.strides == Dims{1})) return {};
  return concat("a vector of ", operand.dtype, " with strides ", operand.strides);
}

}  // namespace narrowgauge
