// SPDX-License-Identifier: Apache-2.0
// The inverted bottleneck of a network that predicts in f32: an expansion 1x1, a window for each
// channel and a projection 1x1, with bounds behind each and the sum with a residual behind the
// last. The wide values between them never lie in memory as a whole.
#include <utility>

#include "base/enumerate.h"
#include "groups/bounded_tail.h"
#include "groups/group.h"
#include "ir/reason.h"
#include "kernels/cpu/floats/float_bottleneck.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/offers/contraction.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/min_max.h"

namespace narrowgauge {

namespace {

struct Bottleneck {
  static constexpr std::string_view name = "bottleneck";
  struct Pattern : GroupPattern {
    Part expansion = anchor<Conv>();
    Part expansion_relu = maybe<Relu>({reads(0, {expansion})});
    Part expansion_clip = maybe<Clip>({reads(0, {expansion_relu, expansion})});
    Part windows = one<Conv>({reads(0, {expansion_clip, expansion_relu, expansion})});
    Part windows_relu = maybe<Relu>({reads(0, {windows})});
    Part windows_clip = maybe<Clip>({reads(0, {windows_relu, windows})});
    Part projection = one<Conv>({reads(0, {windows_clip, windows_relu, windows})});
    Part sum = maybe<Add>({reads(either, {projection})});
    Part relu = maybe<Relu>({reads(0, {sum, projection})});
    Part clip = maybe<Clip>({reads(0, {relu, sum, projection})});
    Pattern() { prefer({sum}); }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

struct StageParts {
  Part convolution, relu, clip;
};

std::vector<StageParts> stages_of(const Bottleneck::Pattern& parts) {
  return {{parts.expansion, parts.expansion_relu, parts.expansion_clip},
          {parts.windows, parts.windows_relu, parts.windows_clip},
          {parts.projection, parts.relu, parts.clip}};
}

// The inputs of the group in the order of cpu::FloatBottleneckInput; -1: none.
std::vector<int> bottleneck_inputs(const GroupMatch& match, const Bottleneck::Pattern& parts) {
  std::vector<int> inputs{match.input(parts.expansion, 0)};
  for (const StageParts& stage : stages_of(parts)) {
    inputs.push_back(match.input(stage.convolution, 1));
    inputs.push_back(match.input(stage.convolution, 2));
  }
  inputs.push_back(match.has(parts.sum) ? match.other(parts.sum) : -1);
  return inputs;
}

// Why the members are not those that the kernel computes; "" if they are.
std::string bottleneck_form_reason(const GroupRequest& group, const Bottleneck::Pattern& parts,
                                   const std::vector<int>& in) {
  const GroupMatch& match = group.match;
  if (group.request.outputs.size() != 1 || !group.output(0).present) return "not one result";
  if (in[cpu::bottleneck_x] < 0) return "a convolution of constants";
  const std::vector<StageParts> stages = stages_of(parts);
  for (const auto& [i, stage] : enumerate(stages)) {
    const Node& node = match.node(stage.convolution);
    const std::size_t at = cpu::bottleneck_weights + 2 * static_cast<std::size_t>(i);
    const bool biased = node.inputs.size() > 2 && !node.inputs[2].is_absent();
    if (in[at] < 0 || (biased && in[at + 1] < 0)) return "a convolution of constants";
    if (node.math != Math::ieee) return "products that are not those of f32";
  }
  if (!match.has(parts.sum)) return "";
  const int residual = in[cpu::bottleneck_residual];
  return unless(residual >= 0 && group.input(residual).dtype == DType::f32 &&
                    same_layout(kernel_view(group.input(residual)), kernel_view(group.output(0))),
                "a residual that does not lie as the result does");
}

// The result of a convolution, which is read in the group alone, with its channels together.
Operand middle_of(const Node& convolution) {
  Operand middle{.dims = known_dims(convolution.outputs[0].type.shape)};
  middle.strides = cpu::channels_last_view(DType::f32, middle.dims).strides;
  return middle;
}

// Fails for bounds that are not known.
bool set_stages(const GroupRequest& group, const Bottleneck::Pattern& parts,
                const std::vector<int>& in, cpu::FloatBottleneck& bottleneck) {
  Operand x = group.input(in[cpu::bottleneck_x]);
  const std::vector<StageParts> stages = stages_of(parts);
  for (const auto& [i, stage] : enumerate(stages)) {
    const Node& node = group.match.node(stage.convolution);
    const std::size_t at = cpu::bottleneck_weights + 2 * static_cast<std::size_t>(i);
    const Operand& w = group.input(in[at]);
    const Operand y = i == 2 ? group.output(0) : middle_of(node);
    Convolution convolution = convolution_of(node, x, w, y);
    if (in[at + 1] >= 0) convolution.bias = &group.input(in[at + 1]);
    const std::optional<cpu::FloatBounds> bounds = bounds_of(group.match, stage.relu, stage.clip);
    if (!bounds) return false;
    bottleneck.stages[static_cast<std::size_t>(i)] = {convolution.views(), convolution.window,
                                                      *bounds, w.lasts};
    x = y;
  }
  return true;
}

Offer Bottleneck::offer(const GroupRequest& group, const Pattern& parts) {
  const std::vector<int> in = bottleneck_inputs(group.match, parts);
  cpu::FloatBottleneck bottleneck{{}, in[cpu::bottleneck_residual] >= 0, group.target().threads};
  std::string reason = first_reason(
      [&] { return storage_reason(group.request); },
      [&] { return bottleneck_form_reason(group, parts, in); },
      [&] { return unless(set_stages(group, parts, in, bottleneck), "bounds that are not known"); },
      [&] { return cpu::float_bottleneck_reason(bottleneck, group.target().isa); });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared([bottleneck] { return cpu::prepare_float_bottleneck(bottleneck); }, in);
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(bottleneck, narrowgauge::Bottleneck)
