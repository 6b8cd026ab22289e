// SPDX-License-Identifier: Apache-2.0
#include "groups/slopes.h"

#include "ops/convolution/conv.h"

namespace narrowgauge {

SlopeOperands::SlopeOperands(const GroupMatch& match, const SlopeParts& parts, int source)
    : dy(source) {
  if (match.has(parts.gradient)) {
    kept = match.input(parts.gradient, 0);
    dy = match.input(parts.gradient, 1);
  }
  if (match.has(parts.sum)) {
    other = match.other(parts.sum);
    dy = match.input(parts.sum, 0);
  }
  if (match.has(parts.convolution)) {
    dy = match.input(parts.convolution, 0);
    weights = match.input(parts.convolution, 1);
  }
}

std::vector<InPlace> SlopeOperands::places(int written) const {
  std::vector<InPlace> places;
  if (other >= 0) places.push_back({other, written});
  if (!convolves()) places.push_back({dy, written});
  return places;
}

SlopeChain slope_chain(const GroupRequest& group, const SlopeParts& parts,
                       const SlopeOperands& operands, const Operand& slope) {
  SlopeChain chain{{}, {}, slope.dims, slope.dtype};
  if (operands.dy < 0 || (group.match.has(parts.convolution) && !operands.convolves()) ||
      (group.match.has(parts.sum) && operands.other < 0))
    chain.reason = "a gradient of constants";
  if (!operands.convolves() || !chain.reason.empty()) return chain;
  TilesConvolution tiles =
      tiles_convolution(convolution_of(group.match.node(parts.convolution), slope,
                                       group.input(operands.weights), group.input(operands.dy)),
                        group.target());
  chain.reason = std::move(tiles.reason);
  chain.convolution = tiles.convolution;
  return chain;
}

std::shared_ptr<const cpu::TileConvolution> SlopeChain::make() const {
  return convolution ? std::make_shared<const cpu::TileConvolution>(*convolution)
                     : std::make_shared<const cpu::TileConvolution>(dims, dtype);
}

void run_slopes(const SlopeOperands& operands, const cpu::TileConvolution& convolution,
                const KernelCall& call, int written, cpu::Slopes slopes) {
  slopes.other = static_cast<const std::byte*>(data_at(call.inputs, operands.other));
  slopes.kept = static_cast<const std::byte*>(data_at(call.inputs, operands.kept));
  convolution.run(
      {data_at(call.inputs, operands.dy), data_at(call.inputs, operands.weights), nullptr,
       data_at(call.outputs, written), call.workspace, flushed_at(call, written)},
      {.kind = cpu::Epilogue::Kind::slopes, .slopes = slopes});
}

}  // namespace narrowgauge
