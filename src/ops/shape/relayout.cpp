// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/relayout.h"

#include <algorithm>
#include <optional>

#include "ops/axes/move.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

std::int64_t own_block(const Operand& operand, std::size_t axis) {
  std::int64_t size = 1;
  for (const auto& block : operand.storage.blocks)
    if (static_cast<std::size_t>(block.axis) == axis) size *= block.size;
  return size;
}

bool has_blocks_of_blocks(const Operand& operand) {
  const auto& blocks = operand.storage.blocks;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (blocks[i].axis == blocks[k].axis) return true;
  return false;
}

// The block size along each axis, 1 if neither operand has blocks. Nothing if a pair of strides for
// each axis cannot describe both.
std::optional<Dims> shared_blocks(const Request& request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (has_blocks_of_blocks(x) || has_blocks_of_blocks(y)) return {};
  Dims sizes;
  for (std::size_t axis = 0; axis < y.dims.size(); ++axis) {
    const std::int64_t from = own_block(x, axis), to = own_block(y, axis);
    if (from > 1 && to > 1 && from != to) return {};
    sizes.push_back(std::max(from, to));
  }
  return sizes;
}

// Strides along each axis: from block to block, and inside a block.
struct Strides {
  Dims outer, lane;
};

Strides strides_in(const Operand& operand, const Dims& blocks) {
  Strides result{operand.strides, Dims(operand.dims.size(), 1)};
  if (!operand.storage.blocks.empty()) {
    Dims dims = operand.dims;
    std::int64_t inside = 1;
    for (auto block = operand.storage.blocks.rbegin(); block != operand.storage.blocks.rend();
         ++block) {
      const auto axis = static_cast<std::size_t>(block->axis);
      dims[axis] = (dims[axis] + block->size - 1) / block->size;
      result.lane[axis] = inside;
      inside *= block->size;
    }
    Storage order = operand.storage;
    order.blocks.clear();
    result.outer = strides_of(dims, order);
    for (std::int64_t& stride : result.outer) stride *= inside;
  }
  for (std::size_t axis = 0; axis < blocks.size(); ++axis) {
    if (own_block(operand, axis) > 1 || blocks[axis] == 1) continue;
    result.lane[axis] = result.outer[axis];
    result.outer[axis] *= blocks[axis];
  }
  return result;
}

// Lanes [lane, lane + lanes) of `blocks` blocks from block `first` on.
struct LaneBox {
  std::int64_t first, blocks, lane, lanes;
  bool zeros = false;
};

// The whole blocks, the last block if the axis does not fill it, and its unfilled rest.
std::vector<LaneBox> parts_of(const Operand& y, std::size_t axis, std::int64_t block) {
  const std::int64_t full = y.dims[axis] / block, rest = y.dims[axis] % block;
  std::vector<LaneBox> parts;
  if (full > 0 || rest == 0) parts.push_back({0, full, 0, block});
  if (rest > 0) parts.push_back({full, 1, 0, rest});
  // Lanes beyond the axis become zeros, so that kernels may compute with them.
  if (rest > 0 && own_block(y, axis) > 1) parts.push_back({full, 1, rest, block - rest, true});
  return parts;
}

Move move_parts(const Strides& x, const Strides& y, const std::vector<LaneBox>& parts) {
  Move move;
  for (const LaneBox& part : parts)
    if (part.zeros) move.input = -1;
  const std::int64_t reads = move.input < 0 ? 0 : 1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [first, blocks, lane, lanes, zeros] = parts[i];
    move.axes.push_back({blocks, reads * x.outer[i], y.outer[i]});
    move.axes.push_back({lanes, reads * x.lane[i], y.lane[i]});
    move.from += reads * (first * x.outer[i] + lane * x.lane[i]);
    move.to += first * y.outer[i] + lane * y.lane[i];
  }
  return move;
}

std::vector<Move> moves_of(const Request& request, const Dims& blocks) {
  const Operand& y = request.outputs[0];
  const Strides from = strides_in(request.inputs[0], blocks), to = strides_in(y, blocks);
  std::vector<std::vector<LaneBox>> choices{{}};
  for (std::size_t axis = 0; axis < blocks.size(); ++axis) {
    std::vector<std::vector<LaneBox>> longer;
    for (const auto& choice : choices)
      for (const LaneBox& part : parts_of(y, axis, blocks[axis])) {
        longer.push_back(choice);
        longer.back().push_back(part);
      }
    choices = std::move(longer);
  }
  std::vector<Move> moves;
  for (const auto& choice : choices) moves.push_back(move_parts(from, to, choice));
  return moves;
}

Offer offer_relayout_copy(const Request& request) {
  for (const Operand* operand : {&request.inputs[0], &request.outputs[0]}) {
    if (!operand->storage.encoding.empty())
      return Offer::decline(concat("storage ", operand->storage));
    if (bits(operand->dtype) < 8)
      return Offer::decline(concat("elements of ", operand->dtype, " share bytes"));
  }
  const auto blocks = shared_blocks(request);
  if (!blocks)
    return Offer::decline(
        concat("from ", request.inputs[0].storage, " to ", request.outputs[0].storage));
  return offer_moves(request, moves_of(request, *blocks));
}

Offer relayout_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].copy(i, in[0], i);
  });
}

constexpr Kernel relayout_kernels[] = {{"copy", offer_relayout_copy},
                                       {"reference", relayout_reference}};

}  // namespace

std::span<const Kernel> Relayout::kernels() { return relayout_kernels; }

}  // namespace narrowgauge

NG_OPS(relayout, narrowgauge::Relayout)
