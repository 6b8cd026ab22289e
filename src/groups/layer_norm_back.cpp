// SPDX-License-Identifier: Apache-2.0
// The gradient of a LayerNormalization, with the sums that it reads and the gradient of the Dropout
// behind it.
#include <algorithm>
#include <optional>

#include "groups/residual_rows.h"
#include "ir/reason.h"
#include "kernels/cpu/normalization/layer_norm.h"
#include "ops/nn/dropout.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/pointwise/arithmetic.h"

namespace narrowgauge {

namespace {

constexpr std::size_t most_sums = 3;

struct LayerNormGradient {
  static constexpr std::string_view name = "layer norm gradient";
  struct Pattern : GroupPattern {
    Part sums = sum_of<Add>(most_sums);
    Part norm = anchor<LayerNormalizationGradient>({reads(0, {sums, outside})});
    Part dropout = maybe<DropoutGradient>({shared(0, {norm})});
    Pattern() { where(sums, is_plain_sum); }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

// Indices of operands; -1: none.
struct Backward {
  std::vector<int> dy;  // to be added up
  int x, scale, mean, inverse_std, mask = -1;
  int dx, dscale, dbias, dropped = -1;
  float keep;
};

Backward backward_of(const GroupMatch& match, const LayerNormGradient::Pattern& parts, float keep) {
  const auto in = [&](std::size_t port) { return match.input(parts.norm, port); };
  const auto out = [&](int port) { return match.output(parts.norm, port); };
  Backward at{.dy = match.terms(parts.sums, parts.norm, 0),
              .x = in(1),
              .scale = in(2),
              .mean = in(3),
              .inverse_std = in(4),
              .dx = out(0),
              .dscale = out(1),
              .dbias = out(2),
              .keep = keep};
  if (!match.has(parts.dropout)) return at;
  at.mask = match.input(parts.dropout, 1);
  at.dropped = match.output(parts.dropout);
  return at;
}

void propagate(const Backward& at, const cpu::RowLayout& layout, const RowOperands& operands,
               const KernelCall& call) {
  cpu::ResidualGradient residual;
  for (std::size_t i = 1; i < at.dy.size(); ++i) residual.more[i - 1] = operands.in(call, at.dy[i]);
  residual.dropped = operands.out(call, at.dropped);
  residual.kept = static_cast<const bool*>(operands.in(call, at.mask).data);
  residual.factor = 1 / at.keep;
  cpu::LayerNormBackward norm;
  norm.layout = layout;
  norm.dy = operands.in(call, at.dy[0]);
  norm.x = operands.in(call, at.x);
  norm.scale = operands.in(call, at.scale);
  norm.mean = static_cast<const float*>(operands.in(call, at.mean).data);
  norm.inverse_std = static_cast<const float*>(operands.in(call, at.inverse_std).data);
  norm.dx = operands.out(call, at.dx);
  norm.scale_gradient = operands.out(call, at.dscale);
  norm.bias_gradient = operands.out(call, at.dbias);
  norm.residual = &residual;
  layer_norm_backward(norm, call.workspace);
}

// Why the operands of a gradient do not fit; "" if they do.
std::string gradient_reason(const RowOperands& operands, const Backward& at) {
  const auto known = [](int index) { return index >= 0; };
  return first_reason(
      [&] {
        const bool all = std::all_of(at.dy.begin(), at.dy.end(), known) && known(at.x) &&
                         known(at.scale) && known(at.mean) && known(at.inverse_std);
        return unless(all, "a normalization of constants");
      },
      [&] { return operands.reason(); },
      [&] {
        const bool same = std::all_of(at.dy.begin(), at.dy.end(), [&](int term) {
          return operands.input(term).dims == operands.input(at.x).dims;
        });
        return unless(same, "terms are broadcast");
      },
      [&] {
        return unless(operands.input(at.mean).dtype == DType::f32 &&
                          operands.input(at.inverse_std).dtype == DType::f32,
                      "statistics not of f32");
      });
}

Offer LayerNormGradient::offer(const GroupRequest& group, const Pattern& parts) {
  const GroupMatch& match = group.match;
  const bool drops = match.has(parts.dropout);
  const std::optional<float> keep = drops ? constant_keep(match, parts.dropout, 2) : 1;
  const RowOperands operands(group.request);
  const Backward at = backward_of(match, parts, keep.value_or(1));
  std::optional<cpu::RowLayout> layout;
  std::string reason = first_reason(
      [&] { return unless(keep.has_value(), "a dropout that is not constant"); },
      [&] { return unless(!drops || (at.mask >= 0 && at.dropped >= 0), "a dropout of constants"); },
      [&] { return gradient_reason(operands, at); },
      [&] {
        layout = rows_of(operands.input(at.x).dims,
                         match.as<LayerNormalizationGradient>(parts.norm).axis);
        return unless(layout.has_value(), "not rows of the last axis");
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Offer offer;
  offer.implementation = "sum and rows, f32 statistics";
  offer.workspace = cpu::layer_norm_backward_workspace(*layout);
  operands.offer_place(at.dy[0], at.dx, offer);
  offer.run = [at, layout = *layout, operands](const KernelCall& call) {
    propagate(at, layout, operands, call);
  };
  return offer;
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(layer_norm_back, narrowgauge::LayerNormGradient)
