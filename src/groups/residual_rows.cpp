// SPDX-License-Identifier: Apache-2.0
#include "groups/residual_rows.h"

#include <algorithm>

#include "ops/axes/axes.h"
#include "ops/axes/axis.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

bool is_plain_sum(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
    return graph.type(input).shape == node.outputs[0].type.shape;
  });
}

std::optional<float> constant_keep(const GroupMatch& match, Part part, std::size_t first) {
  const Values& inputs = match.node(part).inputs;
  const Tensor* training = match.constant(part, first + 1);
  if (inputs.size() != first + 2 || !training || training->at(0) == 0) return {};
  const Tensor* ratio = match.constant(part, first);
  if (!inputs[first].is_absent() && !ratio) return {};
  return static_cast<float>(1 - (ratio ? ratio->at(0) : 0.5));
}

std::optional<cpu::RowLayout> rows_of(const Dims& dims, std::int64_t axis) {
  if (dims.empty() || normalize_axis("LayerNormalization", axis, dims.size()) + 1 != dims.size())
    return {};
  if (dims.back() > cpu::most_residual_columns) return {};
  return cpu::RowLayout{element_count(dims) / std::max<std::int64_t>(1, dims.back()), dims.back()};
}

std::string RowOperands::reason() const {
  for (const auto* operands : {&inputs_, &outputs_})
    for (const Operand& operand : *operands) {
      if (!operand.present) continue;
      const DType dtype = operand.dtype;
      const bool floating = is_f32_or_narrow(dtype);
      const bool byte = dtype == DType::boolean || dtype == DType::u8 || dtype == DType::i8;
      if (!floating && !byte) return concat("dtype ", dtype);
      if (!is_dense(operand)) return "elements do not lie in their logical order";
      if (element_count(operand.dims) == 0) return "no elements";
    }
  return {};
}

}  // namespace narrowgauge
