// SPDX-License-Identifier: Apache-2.0
#include "ops/training/lion_update.h"

#include "ops/table.h"
#include "ops/training/element_rule.h"

namespace narrowgauge {

void LionUpdate::check(std::string_view who) const {
  require_share(who, "beta1", beta1);
  require_share(who, "beta2", beta2);
  require_size(who, "weight_decay", weight_decay);
}

TensorTypes LionUpdate::infer(const Inference& in) const {
  check(in.op_name());
  return infer_update(in, narrow);
}

namespace {

template <class T>
struct LionFormula {
  static constexpr std::size_t moments = 1;
  T fresh1, fresh2, rate, weight_factor;

  LionFormula(const LionUpdate& op, double learning_rate, double)
      : fresh1(static_cast<T>(1 - op.beta1)),
        fresh2(static_cast<T>(1 - op.beta2)),
        rate(static_cast<T>(learning_rate)),
        weight_factor(static_cast<T>(1 - learning_rate * op.weight_decay)) {}

  T operator()(T weight, T gradient, std::array<T, 1>& averages) const {
    T& average = averages[0];
    const T difference = gradient - average, direction = average + fresh1 * difference;
    average += fresh2 * difference;
    const T along = direction > 0 ? rate : T(0), against = direction < 0 ? rate : T(0);
    return weight_factor * weight - (along - against);
  }
};

}  // namespace

std::span<const Kernel> LionUpdate::kernels() {
  return element_rule_kernels<LionUpdate, LionFormula>;
}

}  // namespace narrowgauge

NG_OPS(lion_update, narrowgauge::LionUpdate)
