// SPDX-License-Identifier: Apache-2.0
#include "ops/relayout.h"

#include <optional>

#include "ops/move.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The one axis that lies in blocks in either operand; of size 1 where none does.
struct BlockedAxis {
  std::size_t axis = 0;
  std::int64_t size = 1;
};

// Nothing where a pair of strides for one axis does not describe both.
std::optional<BlockedAxis> blocked_axis(const Request& request) {
  BlockedAxis found;
  for (const Operand* operand : {&request.inputs[0], &request.outputs[0]}) {
    const auto& blocks = operand->storage.blocks;
    if (blocks.empty()) continue;
    const BlockedAxis own{static_cast<std::size_t>(blocks[0].axis), blocks[0].size};
    const bool agrees = found.size == 1 || (found.axis == own.axis && found.size == own.size);
    if (blocks.size() > 1 || !agrees) return {};
    found = own;
  }
  return found;
}

// Strides along the axes, with that of whole blocks at the blocked one; and inside a block.
struct Strides {
  Dims outer;
  std::int64_t lane = 1;
};

Strides strides_in(const Operand& operand, const BlockedAxis& blocked) {
  if (operand.storage.blocks.empty()) {
    Strides result{operand.strides, 1};
    if (result.outer.empty()) return result;
    result.lane = result.outer[blocked.axis];
    result.outer[blocked.axis] *= blocked.size;
    return result;
  }
  Dims dims = operand.dims;
  dims[blocked.axis] = (dims[blocked.axis] + blocked.size - 1) / blocked.size;
  Storage order = operand.storage;
  order.blocks.clear();
  Strides result{strides_of(dims, order), 1};
  for (std::int64_t& stride : result.outer) stride *= blocked.size;
  return result;
}

// `lanes` lanes of `blocks` blocks; from block `first`, lane `lane` on.
struct Part {
  std::int64_t first, blocks, lane, lanes;
};

Move move_part(const Request& request, const BlockedAxis& blocked, const Part& part, bool zeros) {
  const Strides x = strides_in(request.inputs[0], blocked);
  const Strides y = strides_in(request.outputs[0], blocked);
  Move move;
  if (zeros) move.input = -1;
  for (std::size_t i = 0; i < y.outer.size(); ++i) {
    const std::int64_t size = i == blocked.axis ? part.blocks : request.outputs[0].dims[i];
    move.axes.push_back({size, zeros ? 0 : x.outer[i], y.outer[i]});
  }
  move.axes.push_back({part.lanes, zeros ? 0 : x.lane, y.lane});
  if (y.outer.empty()) return move;
  if (!zeros) move.from = part.first * x.outer[blocked.axis] + part.lane * x.lane;
  move.to = part.first * y.outer[blocked.axis] + part.lane * y.lane;
  return move;
}

Offer offer_copy(const Request& request) {
  for (const Operand* operand : {&request.inputs[0], &request.outputs[0]}) {
    if (!operand->storage.encoding.empty())
      return Offer::decline(concat("storage ", operand->storage));
    if (bits(operand->dtype) < 8)
      return Offer::decline(concat("elements of ", operand->dtype, " share bytes"));
  }
  const auto blocked = blocked_axis(request);
  if (!blocked)
    return Offer::decline(
        concat("from ", request.inputs[0].storage, " to ", request.outputs[0].storage));
  const Dims& dims = request.outputs[0].dims;
  const std::int64_t size = dims.empty() ? 1 : dims[blocked->axis];
  const std::int64_t full = size / blocked->size, rest = size % blocked->size;
  std::vector<Move> moves;
  if (full > 0 || rest == 0)
    moves.push_back(move_part(request, *blocked, {0, full, 0, blocked->size}, false));
  if (rest > 0) {
    moves.push_back(move_part(request, *blocked, {full, 1, 0, rest}, false));
    // Lanes beyond the axis are zeros, so that kernels may compute with them.
    if (!request.outputs[0].storage.blocks.empty())
      moves.push_back(move_part(request, *blocked, {full, 1, rest, blocked->size - rest}, true));
  }
  return offer_moves(request, moves);
}

Offer offer_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].copy(i, in[0], i);
  });
}

constexpr Kernel kernel_list[] = {{"copy", offer_copy}, {"reference", offer_reference}};

}  // namespace

std::span<const Kernel> Relayout::kernels() { return kernel_list; }

}  // namespace narrowgauge

NG_OPS(relayout, narrowgauge::Relayout)
