// SPDX-License-Identifier: Apache-2.0
// The weight gradient of a convolution whose input is normalized again just for it.
#include "groups/normalize_again.h"
#include "groups/operands.h"
#include "ir/reason.h"
#include "kernels/cpu/batch_inner/batch_inner_convolution.h"
#include "kernels/cpu/core/workspace.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/normalization/batch_normalization.h"

namespace narrowgauge {

namespace {

struct WeightGradient {
  static constexpr std::string_view name = "weight gradient";
  struct Pattern : GroupPattern {
    Part again = one<NormalizeAgain>();
    Part relu = maybe<Relu>({reads(0, {again})});
    Part gradient = anchor<ConvWeightGradient>({reads(0, {relu, again})});
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

Offer WeightGradient::offer(const GroupRequest& group, const Pattern& parts) {
  const NormalizeAgainOperands again(group.match, parts.again);
  const int dy = group.match.input(parts.gradient, 1), dw = group.match.output(parts.gradient);
  std::string reason =
      first_reason([&] { return unless(dy >= 0 && group.output(dw).present, "nobody reads it"); },
                   [&] { return again.reason(group); },
                   [&] { return image_reason(group.input(again.x), group.input(again.x).dims); });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Operand& x = group.input(again.x);
  TilesConvolution tiles = tiles_convolution(
      convolution_of(group.match.node(parts.gradient), x, group.output(dw), group.input(dy)),
      group.target());
  if (!tiles.reason.empty()) return Offer::decline(std::move(tiles.reason));
  using Given = cpu::BatchInnerConvolution::Given;
  const bool relu = group.match.has(parts.relu);
  tiles.convolution.given = relu ? Given::normalized_relu : Given::normalized;
  Offer offer;
  offer.implementation = "amx tiles, batch-inner, normalized again";
  offer.facts = cpu::tile_facts(tiles.convolution.image);
  offer.prepare = [convolution = tiles.convolution, channels = x.dims[1], again, dy](Offer& ready) {
    const cpu::Prepared prepared = prepare_batch_inner_convolution(convolution);
    cpu::Workspace workspace;
    workspace.add_bytes(prepared.workspace);
    const auto factors = workspace.add<float>(channels), constants = workspace.add<float>(channels);
    ready.workspace = workspace.bytes();
    ready.run = [=, run = prepared.run](const KernelCall& call) {
      float* const factor = factors.in(call.workspace);
      float* const constant = constants.in(call.workspace);
      again.factors(call, channels, factor, constant);
      const void* const inputs[] = {data_at(call.inputs, again.x), data_at(call.inputs, dy),
                                    data_at(call.inputs, again.mean), factor, constant};
      run({inputs, &call.outputs[0].data, call.workspace, call.flushed_at(0)});
    };
  };
  return offer;
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(weight_gradient, narrowgauge::WeightGradient)
