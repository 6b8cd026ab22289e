// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/rnn.h"

#include "ops/control/composite.h"
#include "ops/math/matmul.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes RNN::infer(const Inference& in) const {
  return recurrent_types(recurrent_attributes(*this), in);
}

Values RNN::decompose(Rewriting& r) const {
  const auto weights = [&](std::int64_t d) {
    RecurrentDirection parts{{}, {recurrent_row(r, 2, d)}};
    if (r.has_input(3)) {
      const auto biases = split_last(r, recurrent_row(r, 3, d), 2);
      parts.biases = {biases[0], biases[1]};
    }
    return parts;
  };
  const auto cell = [](const RecurrentStep& step) -> std::vector<Expression> {
    const Expression h = step.states[0].apply(FusedMatMul{false, true}, step.weights[0]);
    return {step.activate(0, step.gates + h)};
  };
  return run_recurrence(r, recurrent_attributes(*this), weights, cell);
}

std::span<const Kernel> RNN::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(rnn, narrowgauge::RNN)
