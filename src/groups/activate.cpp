// SPDX-License-Identifier: Apache-2.0
// A convolution with the Relu that alone reads it, on tiles.
#include <memory>

#include "groups/group.h"
#include "kernels/cpu/batch_inner/image_convolution.h"
#include "kernels/cpu/batch_inner/tile_convolution.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/offers/batch_inner.h"
#include "ops/offers/contraction.h"

namespace narrowgauge {

namespace {

struct Activate {
  static constexpr std::string_view name = "activate";
  struct Pattern : GroupPattern {
    Part convolution = anchor<Conv>();
    Part relu = one<Relu>({reads(0, {convolution})});
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

struct ActivateOperands {
  int x, w, bias, y;
};

// The first convolution of a network reads plain images.
Offer offer_first(const cpu::BatchInnerConvolution& convolution, const ActivateOperands& at) {
  std::vector<int> inputs{at.x, at.w};
  if (at.bias >= 0) inputs.push_back(at.bias);
  return offer_prepared([convolution] { return prepare_image_convolution(convolution, true); },
                        std::move(inputs));
}

Offer offer_inner(const cpu::BatchInnerConvolution& convolution, const ActivateOperands& at) {
  Offer offer;
  offer.implementation = "amx tiles, batch-inner, relu";
  offer.facts = cpu::tile_facts(convolution.image);
  offer.prepare = [convolution, at](Offer& ready) {
    const auto kernel = std::make_shared<const cpu::TileConvolution>(convolution);
    ready.workspace = kernel->workspace();
    ready.run = [kernel, at](const KernelCall& call) {
      kernel->run(
          {data_at(call.inputs, at.x), data_at(call.inputs, at.w), data_at(call.inputs, at.bias),
           call.outputs[0].data, call.workspace, call.flushed_at(0)},
          {.kind = cpu::Epilogue::Kind::relu});
    };
  };
  return offer;
}

Offer Activate::offer(const GroupRequest& group, const Pattern& parts) {
  const Node& conv = group.match.node(parts.convolution);
  const auto in = [&](std::size_t port) { return group.match.input(parts.convolution, port); };
  const ActivateOperands at{in(0), in(1), in(2), group.match.output(parts.relu)};
  const bool biased = conv.inputs.size() > 2 && !conv.inputs[2].is_absent();
  if (!group.output(at.y).present) return Offer::decline("nobody reads the result");
  if (at.x < 0 || at.w < 0 || (biased && at.bias < 0))
    return Offer::decline("a convolution of constants");
  const bool first = !lies_batch_inner(group.input(at.x));
  TilesConvolution tiles = (first ? image_convolution : tiles_convolution)(
      convolution_of(conv, group.input(at.x), group.input(at.w), group.output(at.y)),
      group.target());
  if (biased && tiles.reason.empty()) {
    const Operand& bias = group.input(at.bias);
    tiles.convolution.bias = bias.dtype;
    tiles.reason =
        bias.strides == Dims{1} ? parameter_reason(tiles.convolution) : "a bias with strides";
  }
  if (!tiles.reason.empty()) return Offer::decline(std::move(tiles.reason));
  return first ? offer_first(tiles.convolution, at) : offer_inner(tiles.convolution, at);
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(activate, narrowgauge::Activate)
