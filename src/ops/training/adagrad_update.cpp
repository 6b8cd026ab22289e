// SPDX-License-Identifier: Apache-2.0
#include "ops/training/adagrad_update.h"

#include <cmath>

#include "ops/table.h"
#include "ops/training/element_rule.h"

namespace narrowgauge {

void AdagradUpdate::check(std::string_view who) const {
  require_size(who, "rate_decay", rate_decay);
  require_size(who, "initial_sum", initial_sum);
  require_size(who, "epsilon", epsilon);
  require(epsilon > 0, who, ": expected epsilon above 0, got ", epsilon);
  require_size(who, "weight_decay", weight_decay);
}

TensorTypes AdagradUpdate::infer(const Inference& in) const {
  check(in.op_name());
  return infer_update(in, narrow);
}

namespace {

template <class T>
struct AdagradFormula {
  static constexpr std::size_t moments = 1;
  T rate, initial_sum, epsilon, weight_decay;

  AdagradFormula(const AdagradUpdate& op, double learning_rate, double step)
      : rate(static_cast<T>(learning_rate / (1 + (step - 1) * op.rate_decay))),
        initial_sum(static_cast<T>(op.initial_sum)),
        epsilon(static_cast<T>(op.epsilon)),
        weight_decay(static_cast<T>(op.weight_decay)) {}

  T operator()(T weight, T gradient, std::array<T, 1>& sums) const {
    const T g = gradient + weight_decay * weight;
    sums[0] += g * g;
    return weight - rate * (g / (std::sqrt(initial_sum + sums[0]) + epsilon));
  }
};

}  // namespace

std::span<const Kernel> AdagradUpdate::kernels() {
  return element_rule_kernels<AdagradUpdate, AdagradFormula>;
}

}  // namespace narrowgauge

NG_OPS(adagrad_update, narrowgauge::AdagradUpdate)
