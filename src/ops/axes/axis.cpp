// SPDX-License-Identifier: Apache-2.0
#include "ops/axes/axis.h"

#include <algorithm>

#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

bool lies_as(const Operand& operand, const Storage& storage) {
  const Dims dense = strides_of(operand.dims, storage);
  for (std::size_t axis = 0; axis < dense.size(); ++axis)
    if (operand.dims[axis] > 1 && operand.strides[axis] != dense[axis]) return false;
  return true;
}

bool all_lie_as(const std::vector<const Operand*>& operands, const Storage& storage) {
  return std::all_of(operands.begin(), operands.end(),
                     [&](const Operand* operand) { return lies_as(*operand, storage); });
}

}  // namespace

bool is_dense(const Operand& operand) {
  return operand.storage.blocks.empty() && operand.storage.encoding.empty() && lies_as(operand, {});
}

bool is_channels_last(const Operand& operand) {
  const auto rank = static_cast<std::int64_t>(operand.dims.size());
  return rank > 2 && operand.storage.blocks.empty() && operand.storage.encoding.empty() &&
         lies_as(operand, Storage::channels_last(rank));
}

SharedAxis shared_axis(const std::vector<const Operand*>& operands, std::size_t axis) {
  SharedAxis shared;
  for (const Operand* operand : operands) {
    const DType dtype = operand->dtype;
    if (!is_f32_or_narrow(dtype)) shared.reason = concat("dtype ", dtype);
    if (!operand->storage.blocks.empty() || !operand->storage.encoding.empty())
      shared.reason = concat("storage ", operand->storage);
    if (element_count(operand->dims) == 0) shared.reason = "no elements";
  }
  if (!shared.reason.empty()) return shared;
  const Dims& dims = operands[0]->dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (all_lie_as(operands, {}))
    shared.layout = {element_count(std::span(dims).first(axis)), dims[axis],
                     element_count(std::span(dims).subspan(axis + 1))};
  else if (axis == 1 && rank > 2 && all_lie_as(operands, Storage::channels_last(rank)))
    shared.layout = {dims[0] * element_count(std::span(dims).subspan(2)), dims[1], 1};
  else
    shared.reason = concat("operands lie differently, or with gaps, for axis ", axis);
  return shared;
}

}  // namespace narrowgauge
