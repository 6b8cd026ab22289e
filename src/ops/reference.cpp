// SPDX-License-Identifier: Apache-2.0
#include "ops/reference.h"

#include <memory>

#include "narrowgauge/tf32.h"
#include "ops/indexing.h"

namespace narrowgauge {

namespace {

// Blocked storage: the outer part in `order` with blocked axes divided, then the blocks inside.
std::int64_t blocked_offset(const Operand& operand, std::int64_t index) {
  const Storage& storage = operand.storage;
  const Dims position = position_of(index, operand.dims);
  Dims outer_dims = operand.dims, outer_position = position;
  std::int64_t inner = 0, block_elements = 1;
  for (const auto& [axis, size] : storage.blocks) {
    const auto a = static_cast<std::size_t>(axis);
    inner = inner * size + position[a] % size;
    block_elements *= size;
    outer_dims[a] = (outer_dims[a] + size - 1) / size;
    outer_position[a] = position[a] / size;
  }
  std::int64_t outer = 0;
  for (std::size_t i = 0; i < outer_dims.size(); ++i) {
    const auto axis = storage.order.empty() ? i : static_cast<std::size_t>(storage.order[i]);
    outer = outer * outer_dims[axis] + outer_position[axis];
  }
  return outer * block_elements + inner;
}

}  // namespace

std::int64_t offset_of(const Operand& operand, std::int64_t index) {
  if (!operand.storage.blocks.empty()) return blocked_offset(operand, index);
  std::int64_t offset = 0;
  for (std::size_t i = operand.dims.size(); i-- > 0; index /= operand.dims[i])
    offset += index % operand.dims[i] * operand.strides[i];
  return offset;
}

std::int64_t ReferenceView::offset(std::int64_t index) const { return offset_of(operand_, index); }

void load(const ReferenceView& from, Tensor& to) {
  const bool same = from.dtype() == to.dtype();
  for (std::int64_t k = 0; k < to.size(); ++k)
    if (same)
      copy_element(bits(to.dtype()), from.data(), from.offset(k), to.data(), k);
    else
      to.set(k, from[k]);
}

void store(const Tensor& from, const ReferenceView& to, std::int64_t first) {
  const bool same = from.dtype() == to.dtype();
  for (std::int64_t k = 0; k < from.size(); ++k)
    if (same)
      copy_element(bits(to.dtype()), from.data(), k, to.data(), to.offset(first + k));
    else
      to.set(first + k, from.at(k));
}

void store(const ReferenceSums& from, const ReferenceView& to) {
  for (std::int64_t i = 0; i < from.size(); ++i) to.set(i, from[i]);
}

Offer reference_offer(const Request& request, ReferenceFunction function) {
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (!operand.storage.encoding.empty())
        return Offer::decline(concat("storage ", operand.storage));
  if (rounds_operands(request.math, request.target))
    return Offer::decline(concat("math ", request.math));
  struct Prepared {
    std::vector<Operand> inputs, outputs;
    ReferenceFunction function;
  };
  auto prepared = std::make_shared<Prepared>();
  prepared->inputs.assign(request.inputs.begin(), request.inputs.end());
  prepared->outputs.assign(request.outputs.begin(), request.outputs.end());
  for (Operand& output : prepared->outputs)  // scratch is dense, whatever a plan says of its place
    if (!output.present && output.storage.blocks.empty())
      output.strides = strides_of(output.dims, output.storage);
  prepared->function = std::move(function);
  Offer offer;
  offer.implementation = "reference";
  offer.run = [prepared](const KernelCall& call) {
    std::vector<ReferenceView> inputs, outputs;
    inputs.reserve(prepared->inputs.size());
    outputs.reserve(prepared->outputs.size());
    std::vector<Tensor> scratch;
    for (std::size_t i = 0; i < prepared->inputs.size(); ++i)
      inputs.emplace_back(prepared->inputs[i], call.inputs[i]);
    for (std::size_t i = 0; i < prepared->outputs.size(); ++i) {
      View view = call.outputs[i];
      if (!view.data) {
        Operand& operand = prepared->outputs[i];
        scratch.emplace_back(operand.dtype, Dims{stored_elements(operand.dims, operand.storage)});
        view.data = scratch.back().data();
      }
      outputs.emplace_back(prepared->outputs[i], view);
    }
    prepared->function(inputs, outputs, call);
  };
  return offer;
}

}  // namespace narrowgauge
