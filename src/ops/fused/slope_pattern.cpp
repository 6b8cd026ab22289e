// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/slope_pattern.h"

#include "ops/activation/relu.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/conv.h"
#include "ops/offers/conv_tiles.h"

namespace narrowgauge {

SlopePattern match_slope(const Graph& body, const std::vector<int>& nodes) {
  SlopePattern pattern;
  const auto next = [&]() {
    return pattern.length < nodes.size() ? &body.node(nodes[pattern.length]) : nullptr;
  };
  const auto advance = [&] { pattern.slope = {nodes[pattern.length++], 0}; };
  // Takes the gradient that the first node reads.
  const auto begin_with = [&](Value value) {
    if (!pattern.slope.is_absent()) return;
    pattern.slope = value;
    pattern.dy = input_index(body, value);
  };
  if (const Node* node = next(); node && node->is<ConvDataGradient>()) {
    pattern.convolution = node;
    begin_with(node->inputs[0]);
    pattern.weights = input_index(body, node->inputs[1]);
    advance();
  }
  if (const Node* node = next(); node && node->is<Add>()) {
    begin_with(node->inputs[0]);
    pattern.other = other_input(body, *node, pattern.slope);
    if (pattern.other < 0) return {};
    advance();
  }
  pattern.again = match_normalized_again(body, std::span(nodes).subspan(pattern.length));
  pattern.length += pattern.again.length;
  if (const Node* node = next(); node && node->is<ReluGradient>()) {
    begin_with(node->inputs[1]);
    pattern.kept = input_index(body, node->inputs[0]);
    const bool made = pattern.again.relu && node->inputs[0] == pattern.again.value;
    if ((pattern.kept < 0 && !made) || !(node->inputs[1] == pattern.slope)) return {};
    if (made != (pattern.again.length > 0)) return {};
    advance();
  } else if (pattern.again.length > 0) {
    return {};
  }
  const bool whole = pattern.dy >= 0 && (!pattern.convolution || pattern.weights >= 0);
  return whole ? pattern : SlopePattern{};
}

SlopeKernel slope_kernel(const SlopePattern& pattern, const Request& request,
                         const Operand& slope) {
  if (!pattern.convolution)
    return {std::make_shared<const cpu::TileConvolution>(slope.dims, slope.dtype), {}};
  const auto in = [&](int i) -> const Operand& {
    return request.inputs[static_cast<std::size_t>(i)];
  };
  TilesConvolution tiles = tiles_convolution(*pattern.convolution, slope, in(pattern.weights),
                                             in(pattern.dy), request.target);
  if (!tiles.reason.empty()) return {nullptr, std::move(tiles.reason)};
  return {std::make_shared<const cpu::TileConvolution>(tiles.convolution), {}};
}

std::vector<InPlace> slope_places(const SlopePattern& pattern, int written) {
  std::vector<InPlace> places;
  if (pattern.other >= 0) places.push_back({pattern.other, written});
  if (!pattern.convolution) places.push_back({pattern.dy, written});
  return places;
}

void run_slope(const SlopePattern& pattern, const cpu::TileConvolution& kernel,
               const KernelCall& call, int written, cpu::Slopes slopes) {
  slopes.other = static_cast<const std::byte*>(data_at(call.inputs, pattern.other));
  slopes.kept = static_cast<const std::byte*>(data_at(call.inputs, pattern.kept));
  kernel.run({data_at(call.inputs, pattern.dy), data_at(call.inputs, pattern.weights), nullptr,
              data_at(call.outputs, written), call.workspace,
              call.flushed_at(static_cast<std::size_t>(written))},
             {.kind = cpu::Epilogue::Kind::slopes, .slopes = slopes});
}

}  // namespace narrowgauge
