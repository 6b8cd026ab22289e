// SPDX-License-Identifier: Apache-2.0
#include "ops/training/radam_update.h"

#include <cmath>

#include "ops/table.h"
#include "ops/training/element_rule.h"

namespace narrowgauge {

void RadamUpdate::check(std::string_view who) const {
  check_adam(who, {beta1, beta2, epsilon, weight_decay});
}

TensorTypes RadamUpdate::infer(const Inference& in) const {
  check(in.op_name());
  return infer_update(in, narrow);
}

namespace {

// The factor c of the adaptive rate; 0 while too few steps are averaged for one.
double rectification(double beta2, double step) {
  const double longest = 2 / (1 - beta2) - 1, power = std::pow(beta2, step);
  const double length = longest - 2 * step * power / (1 - power);
  if (length <= 5) return 0;
  return std::sqrt((length - 4) * (length - 2) * longest /
                   ((longest - 4) * (longest - 2) * length));
}

template <class T>
struct RadamFormula {
  static constexpr std::size_t moments = 2;
  bool adapts;
  T fresh1, beta2, fresh2, epsilon, coupled_decay, weight_factor, rate;

  RadamFormula(const RadamUpdate& op, double learning_rate, double step)
      : fresh1(static_cast<T>(1 - op.beta1)),
        beta2(static_cast<T>(op.beta2)),
        fresh2(static_cast<T>(1 - op.beta2)),
        epsilon(static_cast<T>(op.epsilon)),
        coupled_decay(static_cast<T>(op.decoupled ? 0 : op.weight_decay)),
        weight_factor(static_cast<T>(op.decoupled ? 1 - learning_rate * op.weight_decay : 1)) {
    const double c = rectification(op.beta2, step);
    const double plain = learning_rate / (1 - std::pow(op.beta1, step));
    adapts = c > 0;
    rate = static_cast<T>(adapts ? plain * c * std::sqrt(1 - std::pow(op.beta2, step)) : plain);
  }

  T operator()(T weight, T gradient, std::array<T, 2>& values) const {
    auto& [first, second] = values;
    const T g = gradient + coupled_decay * weight;
    first += fresh1 * (g - first);
    second = beta2 * second + fresh2 * g * g;
    const T root = adapts ? std::sqrt(second) + epsilon : T(1);
    return weight_factor * weight - rate * (first / root);
  }
};

}  // namespace

std::span<const Kernel> RadamUpdate::kernels() {
  return element_rule_kernels<RadamUpdate, RadamFormula>;
}

}  // namespace narrowgauge

NG_OPS(radam_update, narrowgauge::RadamUpdate)
