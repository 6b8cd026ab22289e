// SPDX-License-Identifier: Apache-2.0
// A LayerNormalization of a residual sum, with the Dropout of one term or a Cast that widens it,
// and with the quantisation behind it.
#include "kernels/cpu/normalization/layer_norm.h"

#include <optional>

#include "groups/residual_rows.h"
#include "ir/reason.h"
#include "ops/nn/dropout.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/quantized/steps.h"

namespace narrowgauge {

namespace {

struct LayerNorm {
  static constexpr std::string_view name = "layer norm";
  struct Pattern : GroupPattern {
    Part dropout = maybe<Dropout>();
    Part widened = maybe<Cast>();
    Part sum = one<Add>({reads(either, {dropout, widened, outside})});
    Part norm = anchor<LayerNormalization>({shared(0, {sum})});
    Part bytes = maybe<QuantizeLinear>({shared(0, {norm})});
    Part steps = maybe<ToSteps>({shared(0, {norm})});  // the same in the body of a group
    Pattern() {
      where(sum, is_plain_sum);
      where(widened,
            [](const Graph&, const Node& node) { return node.as<Cast>().to == DType::f32; });
    }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

// Indices of operands; -1: none.
struct Forward {
  int x, other, scale, bias;
  int y, mean, inverse_std, sum, kept = -1;
  float epsilon;
  float keep = 1;
  std::int64_t seed = -1;
  std::string dropout;  // the name of the node
  int bytes = -1;
  cpu::RowBytes steps{};  // of the bytes
};

Forward forward_of(const GroupMatch& match, const LayerNorm::Pattern& parts, float keep) {
  Forward at{.x = match.input(parts.sum, 0),
             .other = match.other(parts.sum),
             .scale = match.input(parts.norm, 1),
             .bias = match.input(parts.norm, 2),
             .y = match.output(parts.norm, 0),
             .mean = match.output(parts.norm, 1),
             .inverse_std = match.output(parts.norm, 2),
             .sum = match.output(parts.sum),
             .epsilon = static_cast<float>(match.as<LayerNormalization>(parts.norm).epsilon),
             .keep = keep,
             .dropout = {}};
  if (match.has(parts.steps)) {
    const ToSteps& steps = match.as<ToSteps>(parts.steps);
    at.bytes = match.output(parts.steps);
    at.steps = {nullptr, steps.low < 0 ? DType::i8 : DType::u8, static_cast<float>(steps.scale),
                static_cast<std::int32_t>(steps.zero)};
  }
  if (!match.has(parts.dropout)) return at;
  at.x = match.input(parts.dropout, 0);
  at.kept = match.output(parts.dropout, 1);
  at.seed = match.as<Dropout>(parts.dropout).seed;
  at.dropout = match.node(parts.dropout).name;
  return at;
}

void normalize(const Forward& at, const cpu::RowLayout& layout, const RowOperands& operands,
               const KernelCall& call) {
  cpu::ResidualSum residual;
  residual.other = operands.in(call, at.other);
  residual.sum = operands.out(call, at.sum);
  residual.keep = at.keep;
  residual.kept = RowOperands::output_data<bool>(call, at.kept);
  const std::uint64_t seed = at.seed < 0 ? call.context.seed : static_cast<std::uint64_t>(at.seed);
  residual.stream = RandomStream(seed, at.dropout, call.context.step);
  cpu::LayerNormForward norm;
  norm.layout = layout;
  norm.x = operands.in(call, at.x);
  norm.y = operands.out(call, at.y);
  norm.scale = operands.in(call, at.scale);
  norm.bias = operands.in(call, at.bias);
  norm.epsilon = at.epsilon;
  norm.mean = RowOperands::output_data<float>(call, at.mean);
  norm.inverse_std = RowOperands::output_data<float>(call, at.inverse_std);
  norm.residual = &residual;
  norm.bytes = at.steps;
  norm.bytes.to = RowOperands::output_data<std::uint8_t>(call, at.bytes);
  layer_norm_forward(norm, call.workspace);
}

Offer LayerNorm::offer(const GroupRequest& group, const Pattern& parts) {
  const GroupMatch& match = group.match;
  const bool drops = match.has(parts.dropout);
  const std::optional<float> keep = drops ? constant_keep(match, parts.dropout, 1) : 1;
  const RowOperands operands(group.request);
  const Forward at = forward_of(match, parts, keep.value_or(1));
  std::optional<cpu::RowLayout> layout;
  const Values& inputs = match.node(parts.norm).inputs;
  const bool biased = inputs.size() > 2 && !inputs[2].is_absent();
  std::string reason = first_reason(
      [&] { return unless(keep.has_value(), "a dropout that is not constant"); },
      [&] {
        const bool known = at.x >= 0 && at.other >= 0 && at.scale >= 0 && (!biased || at.bias >= 0);
        return unless(known, "a normalization of constants");
      },
      [&] {
        const bool read = at.y >= 0 && operands.output(at.y).present;
        return unless(read || at.bytes >= 0, "nobody reads y");
      },
      [&] { return operands.reason(); },
      [&] {
        layout = rows_of(operands.input(at.x).dims, match.as<LayerNormalization>(parts.norm).axis);
        return unless(layout.has_value(), "not rows of the last axis");
      },
      [&] {
        return unless(operands.input(at.other).dims == operands.input(at.x).dims,
                      "terms are broadcast");
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Offer offer;
  offer.implementation = "sum and rows, f32 statistics";
  offer.workspace = cpu::layer_norm_workspace(*layout);
  operands.offer_place(at.x, at.y, offer);
  operands.offer_place(at.other, at.sum, offer);
  offer.run = [at, layout = *layout, operands](const KernelCall& call) {
    normalize(at, layout, operands, call);
  };
  return offer;
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(layer_norm, narrowgauge::LayerNorm)
