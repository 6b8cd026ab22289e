// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/lstm.h"

#include "ops/control/composite.h"
#include "ops/math/matmul.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes LSTM::infer(const Inference& in) const {
  const TensorTypes types = recurrent_types(recurrent_attributes(*this), in);
  require_recurrent_shape(in, 7, {in.shape(2)[0], in.shape(2)[2] * 3});
  return types;
}

namespace {

std::vector<Expression> next_states(const RecurrentStep& step, bool input_forget) {
  const Expression h = step.states[0], c = step.states[1];
  const auto gates =
      split_last(step.r, step.gates + h.apply(FusedMatMul{false, true}, step.weights[0]), 4);
  std::vector<Expression> peepholes;
  if (step.weights.size() > 1) peepholes = split_last(step.r, step.weights[1], 3);
  // Gate i, o or f, which sees a cell through its peephole.
  const auto gate = [&](std::size_t number, Expression cell) {
    return step.activate(
        0, peepholes.empty() ? gates[number] : gates[number] + peepholes[number] * cell);
  };
  const Expression input = gate(0, c);
  const Expression forget = input_forget ? 1 - input : gate(2, c);
  const Expression cell = forget * c + input * step.activate(1, gates[3]);
  return {gate(1, cell) * step.activations[2](cell), cell};
}

}  // namespace

Values LSTM::decompose(Rewriting& r) const {
  const auto weights = [&](std::int64_t d) {
    RecurrentDirection parts{{}, {recurrent_row(r, 2, d)}};
    if (r.has_input(7)) parts.weights.push_back(recurrent_row(r, 7, d));
    if (r.has_input(3)) {
      const auto biases = split_last(r, recurrent_row(r, 3, d), 2);
      parts.biases = {biases[0], biases[1]};
    }
    return parts;
  };
  return run_recurrence(r, recurrent_attributes(*this), weights, [this](const RecurrentStep& step) {
    return next_states(step, input_forget != 0);
  });
}

std::span<const Kernel> LSTM::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(lstm, narrowgauge::LSTM)
