// SPDX-License-Identifier: Apache-2.0
#include "ops/axes/move.h"

#include <algorithm>
#include <memory>

#include "base/indexed_vector.h"

namespace narrowgauge {

namespace {

bool lies_as_stored(const Operand& operand) {
  return operand.storage.encoding.empty() && operand.storage.blocks.empty() &&
         operand.strides == strides_of(operand.dims, operand.storage);
}

// Whether the output is exactly the memory of the input.
bool changes_nothing(const Request& request, const Move& move) {
  if (move.input < 0 || move.from != 0 || move.to != 0) return false;
  const Operand& x = request.input(move.input);
  const Operand& y = request.output(move.output);
  if (!lies_as_stored(x) || !lies_as_stored(y) || x.dtype != y.dtype) return false;
  std::int64_t count = 1;
  for (const cpu::CopyAxis& axis : move.axes) {
    count *= axis.size;
    if (axis.size > 1 && axis.source_stride != axis.target_stride) return false;
  }
  return count == element_count(x.dims) && count == element_count(y.dims);
}

struct PreparedMove {
  Move move;
  cpu::StridedCopy copy;
};

Offer offer_alias(const Move& move) {
  Offer offer;
  offer.implementation = "view";
  offer.aliases = {{move.input, move.output}};
  offer.run = [](const KernelCall&) {};
  return offer;
}

}  // namespace

Move move_ranges(const Request& request, int input, int output,
                 const std::vector<MovedRange>& ranges) {
  Move move{input, output, 0, 0, {}};
  const Operand& y = request.output(output);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const MovedRange& range = ranges[i];
    const std::int64_t stride = input < 0 ? 0 : request.input(input).strides[i];
    move.axes.push_back({range.size, range.step * stride, range.target_step * y.strides[i]});
    move.from += range.from * stride;
    move.to += range.to * y.strides[i];
  }
  return move;
}

Move fill(const Request& request, int input, int output) {
  Move move{input, output, 0, 0, {}};
  const Operand& y = request.output(output);
  for (std::size_t i = 0; i < y.dims.size(); ++i) move.axes.push_back({y.dims[i], 0, y.strides[i]});
  return move;
}

std::string check_movable(const Request& request) {
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands) {
      if (!operand.present) continue;
      if (!operand.storage.blocks.empty() || !operand.storage.encoding.empty())
        return concat("storage ", operand.storage);
      if (bits(operand.dtype) < 8) return concat("elements of ", operand.dtype, " share bytes");
    }
  return {};
}

Offer offer_moves(const Request& request, const std::vector<Move>& moves) {
  if (moves.size() == 1 && changes_nothing(request, moves[0])) return offer_alias(moves[0]);
  auto prepared = std::make_shared<std::vector<PreparedMove>>();
  for (const Move& move : moves) {
    const Operand& y = request.output(move.output);
    const bool empty = std::any_of(move.axes.begin(), move.axes.end(),
                                   [](const cpu::CopyAxis& axis) { return axis.size == 0; });
    if (y.present && !empty)
      prepared->push_back({move, cpu::StridedCopy(move.axes, bits(y.dtype) / 8)});
  }
  Offer offer;
  offer.implementation = "copy";
  IndexedVector<int, std::int64_t> element_bytes;  // of each output
  for (const Operand& y : request.outputs) element_bytes.add(bits(y.dtype) / 8);
  offer.run = [prepared, element_bytes](const KernelCall& call) {
    static constexpr std::int64_t zero = 0;  // of any dtype
    for (const auto& [move, copy] : *prepared) {
      auto* to = call.output(move.output).as<std::byte>();
      if (!to) continue;
      const void* data = move.input < 0 ? nullptr : call.input(move.input).data;
      const auto* from = data ? static_cast<const std::byte*>(data) : nullptr;
      copy.run(from ? from + move.from * element_bytes[move.output]
                    : reinterpret_cast<const std::byte*>(&zero),
               to + move.to * element_bytes[move.output]);
    }
  };
  return offer;
}

}  // namespace narrowgauge
