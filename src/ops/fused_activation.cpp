// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_activation.h"

#include <memory>

#include "base/cpu.h"
#include "kernels/cpu/batch_inner_gather.h"
#include "kernels/cpu/strip.h"
#include "ops/broadcast_gradient.h"
#include "ops/conv.h"
#include "ops/conv_tiles.h"
#include "ops/fused.h"
#include "ops/relu.h"
#include "ops/slope_pattern.h"

namespace narrowgauge {

namespace {

using Gather = std::shared_ptr<const cpu::BatchInnerGather>;

void* data(std::span<const View> views, int i) {
  return i < 0 ? nullptr : views[static_cast<std::size_t>(i)].data;
}

struct SlopeGroup {
  SlopePattern pattern;
  int slope = -1, sums = -1;  // outputs
};

// length 0 of the pattern: no such group.
SlopeGroup match_group(const Graph& body) {
  const std::vector<int> nodes = working_nodes(body);
  SlopeGroup group{.pattern = match_slope(body, nodes)};
  const std::size_t length = group.pattern.length;
  if (length == 0) return group;
  group.slope = output_index(body, group.pattern.slope);
  if (length < nodes.size()) {
    const Node& sums = body.node(nodes[length]);
    if (sums.is<BroadcastGradient>() && sums.inputs[0] == group.pattern.slope)
      group.sums = output_index(body, {nodes[length], 0});
  }
  const std::size_t outputs = group.sums < 0 ? 1 : 2;
  if (group.slope < 0 || nodes.size() != length + outputs - 1 || body.outputs().size() != outputs)
    group.pattern.length = 0;
  return group;
}

std::string group_reason(const Request& request, const SlopeGroup& group) {
  const Operand& slope = request.outputs[static_cast<std::size_t>(group.slope)];
  if (!slope.present) return "nobody reads the gradient";
  std::string reason = image_reason(slope, slope.dims);
  const SlopePattern& pattern = group.pattern;
  for (const int i : {pattern.convolution ? -1 : pattern.dy, pattern.other, pattern.kept})
    if (i >= 0 && reason.empty())
      reason = image_reason(request.inputs[static_cast<std::size_t>(i)], slope.dims);
  if (!reason.empty() || group.sums < 0) return reason;
  const Operand& sums = request.outputs[static_cast<std::size_t>(group.sums)];
  if (sums.dtype != slope.dtype && sums.dtype != DType::f32) return concat("sums of ", sums.dtype);
  return sums.present && are_channels(sums.dims, slope.dims) ? "" : "sums not of channels";
}

// The pieces' sums lie behind the gather's workspace.
void run_slopes(const KernelCall& call, const SlopeGroup& group,
                const cpu::BatchInnerGather& gather, const Operand& sums) {
  const SlopePattern& pattern = group.pattern;
  cpu::Slopes slopes;
  slopes.other = static_cast<const std::byte*>(data(call.inputs, pattern.other));
  slopes.kept = static_cast<const std::byte*>(data(call.inputs, pattern.kept));
  if (group.sums >= 0) slopes.sum = reinterpret_cast<float*>(call.workspace + gather.workspace());
  gather.run({data(call.inputs, pattern.dy), data(call.inputs, pattern.weights), nullptr,
              data(call.outputs, group.slope), call.workspace,
              call.flushed_at(static_cast<std::size_t>(group.slope))},
             {.kind = cpu::Epilogue::Kind::slopes, .slopes = slopes});
  if (group.sums < 0) return;
  const auto channels = static_cast<std::size_t>(element_count(sums.dims));
  std::vector<double> joined(channels);
  gather.join(slopes.sum, joined.data());
  const std::vector<float> rounded(joined.begin(), joined.end());
  cpu::store_strip({data(call.outputs, group.sums), sums.dtype}, 0,
                   static_cast<std::int64_t>(channels), rounded.data());
}

}  // namespace

Offer offer_fused_activation(const Request& request) {
  const Graph& body = *request.as<Fused>().body;
  const std::vector<int> nodes = working_nodes(body);
  const bool fits = nodes.size() == 2 && body.node(nodes[0]).is<Conv>() &&
                    body.node(nodes[1]).is<Relu>() && body.outputs().size() == 1;
  if (!fits || !request.outputs[0].present) return Offer::decline("no convolution with a Relu");
  const Node& conv = body.node(nodes[0]);
  const auto operand = [&](std::size_t i) {
    return i < conv.inputs.size() ? input_index(body, conv.inputs[i]) : -1;
  };
  const int x = operand(0), w = operand(1), bias = operand(2);
  if (x < 0 || w < 0) return Offer::decline("a convolution of constants");
  const auto in = [&](int i) { return request.inputs[static_cast<std::size_t>(i)]; };
  TilesConvolution tiles = tiles_convolution(conv, in(x), in(w), request.outputs[0]);
  if (bias >= 0 && tiles.reason.empty()) {
    tiles.convolution.bias = in(bias).dtype;
    tiles.reason =
        in(bias).strides == Dims{1} ? parameter_reason(tiles.convolution) : "a bias with strides";
  }
  if (!tiles.reason.empty()) return Offer::decline(std::move(tiles.reason));
  const auto gather = std::make_shared<const cpu::BatchInnerGather>(tiles.convolution);
  Offer offer;
  offer.implementation = "amx tiles, batch-inner, relu";
  offer.workspace = gather->workspace();
  offer.run = [=](const KernelCall& call) {
    gather->run({data(call.inputs, x), data(call.inputs, w), data(call.inputs, bias),
                 call.outputs[0].data, call.workspace, call.flushed_at(0)},
                {.kind = cpu::Epilogue::Kind::relu});
  };
  return offer;
}

Offer offer_fused_activation_gradient(const Request& request) {
  SlopeGroup group = match_group(*request.as<Fused>().body);
  SlopePattern& pattern = group.pattern;
  if (pattern.length == 0) return Offer::decline("no gradient of a Relu among others");
  if (isa() != Isa::amx) return Offer::decline(concat("tiles need amx, this is ", name(isa())));
  std::string reason = group_reason(request, group);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto in = [&](int i) { return request.inputs[static_cast<std::size_t>(i)]; };
  const Operand& slope = request.outputs[static_cast<std::size_t>(group.slope)];
  Gather gather;
  if (pattern.convolution) {
    TilesConvolution tiles =
        tiles_convolution(*pattern.convolution, slope, in(pattern.weights), in(pattern.dy));
    if (!tiles.reason.empty()) return Offer::decline(std::move(tiles.reason));
    gather = std::make_shared<const cpu::BatchInnerGather>(tiles.convolution);
  } else {
    gather = std::make_shared<const cpu::BatchInnerGather>(slope.dims, slope.dtype);
  }
  Offer offer;
  offer.implementation = pattern.convolution ? "amx tiles, batch-inner, to slopes" : "slopes";
  if (pattern.other >= 0) offer.in_place.push_back({pattern.other, group.slope});
  if (!pattern.convolution) offer.in_place.push_back({pattern.dy, group.slope});
  pattern.convolution = nullptr;  // lives no longer than the request
  const Operand sums =
      group.sums < 0 ? Operand{} : request.outputs[static_cast<std::size_t>(group.sums)];
  offer.workspace = gather->workspace() + (group.sums < 0 ? 0 : gather->part_floats() * 4);
  offer.run = [=](const KernelCall& call) { run_slopes(call, group, *gather, sums); };
  return offer;
}

}  // namespace narrowgauge
