// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/gru.h"

#include "ops/control/composite.h"
#include "ops/math/matmul.h"
#include "ops/shape/concat.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes GRU::infer(const Inference& in) const {
  return recurrent_types(recurrent_attributes(*this), in);
}

namespace {

// The cell's weights: those of z and r together, those of h, and the bias inside of the reset.
RecurrentDirection direction_of(Rewriting& r, std::int64_t direction, bool reset_last) {
  const Value recurrent = recurrent_row(r, 2, direction);
  const Dim hidden = r.shape(recurrent)[1];
  const Value first = r.add(ConcatGradient{0, {hidden * 2, hidden}}, {recurrent});
  RecurrentDirection parts{{}, {first, {first.node, 1}}};
  if (!r.has_input(3)) return parts;
  const auto b = split_last(r, recurrent_row(r, 3, direction), 6);
  const Expression of_hidden = reset_last ? b[2] : b[2] + b[5];
  parts.biases = {r.add(Concat{0}, {b[0] + b[3], b[1] + b[4], of_hidden})};
  if (reset_last) parts.weights.push_back(b[5]);
  return parts;
}

std::vector<Expression> next_state(const RecurrentStep& step, bool reset_last) {
  const FusedMatMul product{false, true};
  const Expression h = step.states[0];
  const auto x = split_last(step.r, step.gates, 3);
  const auto recurrent = split_last(step.r, h.apply(product, step.weights[0]), 2);
  const Expression update = step.activate(0, x[0] + recurrent[0]);
  const Expression reset = step.activate(0, x[1] + recurrent[1]);
  Expression of_hidden = (reset_last ? h : reset * h).apply(product, step.weights[1]);
  if (step.weights.size() > 2) of_hidden = of_hidden + step.weights[2];
  const Expression fresh = step.activate(1, x[2] + (reset_last ? reset * of_hidden : of_hidden));
  return {(1 - update) * fresh + update * h};
}

}  // namespace

Values GRU::decompose(Rewriting& r) const {
  const bool reset_last = linear_before_reset != 0;
  return run_recurrence(
      r, recurrent_attributes(*this),
      [&](std::int64_t d) { return direction_of(r, d, reset_last); },
      [reset_last](const RecurrentStep& step) { return next_state(step, reset_last); });
}

std::span<const Kernel> GRU::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(gru, narrowgauge::GRU)
