// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/fused_activation.h"

#include <algorithm>
#include <memory>

#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/tiles/image_convolution.h"
#include "kernels/cpu/tiles/tile_convolution.h"
#include "ops/activation/relu.h"
#include "ops/fused/fused.h"
#include "ops/fused/slope_pattern.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/nn/conv.h"
#include "ops/offers/batch_inner.h"
#include "ops/offers/contraction.h"
#include "ops/offers/conv_tiles.h"

namespace narrowgauge {

namespace {

struct SlopeGroup {
  SlopePattern pattern;
  int slope = -1, sums = -1;  // outputs
};

// Matches a slope group; pattern.length is 0 if there is none.
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
  if (pattern.again.length > 0) return "nobody else reads x";
  for (const int i : {pattern.convolution ? -1 : pattern.dy, pattern.other, pattern.kept})
    if (i >= 0 && reason.empty())
      reason = image_reason(request.inputs[static_cast<std::size_t>(i)], slope.dims);
  if (!reason.empty() || group.sums < 0) return reason;
  const Operand& sums = request.outputs[static_cast<std::size_t>(group.sums)];
  if (sums.dtype != slope.dtype && sums.dtype != DType::f32) return concat("sums of ", sums.dtype);
  return sums.present && are_channels(sums.dims, slope.dims) ? "" : "sums not of channels";
}

// The workspace: the kernel's own, then the pieces' sums, then their joins in f64 and in f32.
class SlopeSums {
 public:
  SlopeSums(const cpu::TileConvolution& kernel, const Operand& sums)
      : kernel_(kernel), dtype_(sums.dtype), channels_(element_count(sums.dims)) {}

  std::int64_t bytes() const { return kernel_.part_floats() * 4 + channels_ * 12; }
  float* parts(const KernelCall& call) const {
    return reinterpret_cast<float*>(call.workspace + kernel_.workspace());
  }
  void store(const KernelCall& call, int output) const {
    float* const of_pieces = parts(call);
    auto* const joined = reinterpret_cast<double*>(of_pieces + kernel_.part_floats());
    auto* const rounded = reinterpret_cast<float*>(joined + channels_);
    kernel_.join(of_pieces, joined);
    std::copy_n(joined, channels_, rounded);
    cpu::store_strip({data_at(call.outputs, output), dtype_}, 0, channels_, rounded);
  }

 private:
  const cpu::TileConvolution& kernel_;
  DType dtype_;
  std::int64_t channels_;
};

void run_group(const KernelCall& call, const SlopeGroup& group, const cpu::TileConvolution& kernel,
               const Operand& sums) {
  cpu::Slopes slopes;
  if (group.sums < 0) return run_slope(group.pattern, kernel, call, group.slope, slopes);
  const SlopeSums behind(kernel, sums);
  slopes.sum = behind.parts(call);
  run_slope(group.pattern, kernel, call, group.slope, slopes);
  behind.store(call, group.sums);
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
  const bool biased = conv.inputs.size() > 2 && !conv.inputs[2].is_absent();
  if (x < 0 || w < 0 || (biased && bias < 0)) return Offer::decline("a convolution of constants");
  const auto in = [&](int i) { return request.inputs[static_cast<std::size_t>(i)]; };
  const bool first = !lies_batch_inner(in(x));
  TilesConvolution tiles = (first ? image_convolution : tiles_convolution)(
      conv, in(x), in(w), request.outputs[0], request.target);
  if (bias >= 0 && tiles.reason.empty()) {
    tiles.convolution.bias = in(bias).dtype;
    tiles.reason =
        in(bias).strides == Dims{1} ? parameter_reason(tiles.convolution) : "a bias with strides";
  }
  if (!tiles.reason.empty()) return Offer::decline(std::move(tiles.reason));
  if (first) {
    std::vector<int> inputs{x, w};
    if (bias >= 0) inputs.push_back(bias);
    return offer_prepared(
        [convolution = tiles.convolution] { return prepare_image_convolution(convolution, true); },
        std::move(inputs));
  }
  const auto kernel = std::make_shared<const cpu::TileConvolution>(tiles.convolution);
  Offer offer;
  offer.implementation = "amx tiles, batch-inner, relu";
  offer.facts = cpu::tile_facts(tiles.convolution.image);
  offer.workspace = kernel->workspace();
  offer.run = [=](const KernelCall& call) {
    kernel->run({data_at(call.inputs, x), data_at(call.inputs, w), data_at(call.inputs, bias),
                 call.outputs[0].data, call.workspace, call.flushed_at(0)},
                {.kind = cpu::Epilogue::Kind::relu});
  };
  return offer;
}

Offer offer_fused_activation_gradient(const Request& request) {
  SlopeGroup group = match_group(*request.as<Fused>().body);
  SlopePattern& pattern = group.pattern;
  if (pattern.length == 0) return Offer::decline("no gradient of a Relu among others");
  std::string reason = cpu::tile_isa_reason(request.target.isa);
  if (reason.empty()) reason = group_reason(request, group);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Operand& slope = request.outputs[static_cast<std::size_t>(group.slope)];
  auto [kernel, declined] = slope_kernel(pattern, request, slope);
  if (!kernel) return Offer::decline(std::move(declined));
  Offer offer;
  offer.implementation = pattern.convolution ? "amx tiles, batch-inner, to slopes" : "slopes";
  if (pattern.convolution) offer.facts = cpu::tile_facts(slope.dtype);
  offer.in_place = slope_places(pattern, group.slope);
  pattern.convolution = nullptr;  // lives no longer than the request
  const Operand sums =
      group.sums < 0 ? Operand{} : request.outputs[static_cast<std::size_t>(group.sums)];
  offer.workspace = kernel->workspace() + (group.sums < 0 ? 0 : SlopeSums(*kernel, sums).bytes());
  offer.run = [kernel = kernel, group, sums](const KernelCall& call) {
    run_group(call, group, *kernel, sums);
  };
  return offer;
}

}  // namespace narrowgauge
