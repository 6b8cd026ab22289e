// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/fused_weight_gradient.h"

#include <optional>

#include "kernels/cpu/normalization/batch_norm.h"
#include "kernels/cpu/tiles/batch_inner_convolution.h"
#include "ops/activation/relu.h"
#include "ops/fused/fused.h"
#include "ops/fused/fused_body.h"
#include "ops/fused/normalized_again.h"
#include "ops/nn/batch_normalization.h"
#include "ops/nn/conv.h"
#include "ops/offers/channels.h"
#include "ops/offers/conv_tiles.h"

namespace narrowgauge {

namespace {

struct Pattern {
  NormalizedAgain x;
  const Node* gradient = nullptr;
  int dy = -1;
};

std::optional<Pattern> match(const Graph& body) {
  const std::vector<int> nodes = working_nodes(body);
  Pattern pattern{.x = match_normalized_again(body, nodes)};
  if (pattern.x.length == 0 || nodes.size() != pattern.x.length + 1) return {};
  const int last = nodes.back();
  pattern.gradient = &body.node(last);
  if (!pattern.gradient->is<ConvWeightGradient>()) return {};
  pattern.dy = input_index(body, pattern.gradient->inputs[1]);
  const bool fits = pattern.gradient->inputs[0] == pattern.x.value && pattern.dy >= 0 &&
                    body.outputs().size() == 1 && output_index(body, {last, 0}) == 0;
  return fits ? std::optional(pattern) : std::nullopt;
}

}  // namespace

Offer offer_fused_weight_gradient(const Request& request) {
  const auto pattern = match(*request.as<Fused>().body);
  if (!pattern) return Offer::decline("no weight gradient of what is normalized again");
  const auto in = [&](int i) -> const Operand& {
    return request.inputs[static_cast<std::size_t>(i)];
  };
  const Operand& x = in(pattern->x.x);
  std::string reason = request.outputs[0].present ? image_reason(x, x.dims) : "nobody reads it";
  if (reason.empty()) reason = pattern->x.reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  TilesConvolution tiles =
      tiles_convolution(*pattern->gradient, x, request.outputs[0], in(pattern->dy), request.target);
  if (!tiles.reason.empty()) return Offer::decline(std::move(tiles.reason));
  using Given = cpu::BatchInnerConvolution::Given;
  tiles.convolution.given = pattern->x.relu ? Given::normalized_relu : Given::normalized;
  Offer offer;
  offer.implementation = "amx tiles, batch-inner, normalized again";
  offer.facts = cpu::tile_facts(tiles.convolution.image);
  offer.prepare = [convolution = tiles.convolution, channels = x.dims[1], again = pattern->x,
                   dy = pattern->dy](Offer& ready) {
    const cpu::Prepared prepared = prepare_batch_inner_convolution(convolution);
    const std::int64_t own = (prepared.workspace + 63) / 64 * 64;
    ready.workspace = own + 2 * channels * 4;
    ready.run = [=, run = prepared.run](const KernelCall& call) {
      auto* const factor = reinterpret_cast<float*>(call.workspace + own);
      float* const constant = factor + channels;
      again.factors(call, channels, factor, constant);
      const void* const inputs[] = {data_at(call.inputs, again.x), data_at(call.inputs, dy),
                                    data_at(call.inputs, again.mean), factor, constant};
      run({inputs, &call.outputs[0].data, call.workspace, call.flushed_at(0)});
    };
  };
  return offer;
}

}  // namespace narrowgauge
