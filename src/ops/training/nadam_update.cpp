// SPDX-License-Identifier: Apache-2.0
#include "ops/training/nadam_update.h"

#include <cmath>

#include "ops/table.h"
#include "ops/training/element_rule.h"

namespace narrowgauge {

void NadamUpdate::check(std::string_view who) const {
  check_adam(who, {beta1, beta2, epsilon, weight_decay});
  require_size(who, "momentum_decay", momentum_decay);
}

TensorTypes NadamUpdate::infer(const Inference& in) const {
  check(in.op_name());
  return infer_update(in, narrow);
}

namespace {

// mu(t) without beta1 is 1 - q^t / 2 with q = 0.96^momentum_decay.
double log_q(const NadamUpdate& op) { return op.momentum_decay * std::log(0.96); }

double mu(const NadamUpdate& op, double step) {
  return op.beta1 * (1 - 0.5 * std::exp(step * log_q(op)));
}

// mu(1) ... mu(t), without a product over all steps: the logarithm of 1 - q^k / 2 is the sum over n
// of -(q^k / 2)^n / n, and for each n the sum over k = 1 ... t is geometric. Sixty terms, each at
// most half of the one before, are exact in f64.
double mu_product(const NadamUpdate& op, double step) {
  const double log = log_q(op);
  double sum = 0, half = 1;
  for (int n = 1; n <= 60; ++n) {
    half /= 2;
    const double powers =
        log == 0 ? step : std::exp(n * log) * std::expm1(n * step * log) / std::expm1(n * log);
    sum -= half / n * powers;
  }
  return std::pow(op.beta1, step) * std::exp(sum);
}

template <class T>
struct NadamFormula {
  static constexpr std::size_t moments = 2;
  T fresh1, beta2, fresh2, epsilon, second_correction, coupled_decay, weight_factor, along_gradient,
      along_moment;

  NadamFormula(const NadamUpdate& op, double learning_rate, double step)
      : fresh1(static_cast<T>(1 - op.beta1)),
        beta2(static_cast<T>(op.beta2)),
        fresh2(static_cast<T>(1 - op.beta2)),
        epsilon(static_cast<T>(op.epsilon)),
        second_correction(static_cast<T>(1 / std::sqrt(1 - std::pow(op.beta2, step)))),
        coupled_decay(static_cast<T>(op.decoupled ? 0 : op.weight_decay)),
        weight_factor(static_cast<T>(op.decoupled ? 1 - learning_rate * op.weight_decay : 1)) {
    const double product = mu_product(op, step), next = mu(op, step + 1);
    along_gradient = static_cast<T>(learning_rate * (1 - mu(op, step)) / (1 - product));
    along_moment = static_cast<T>(learning_rate * next / (1 - product * next));
  }

  T operator()(T weight, T gradient, std::array<T, 2>& values) const {
    auto& [first, second] = values;
    const T g = gradient + coupled_decay * weight;
    first += fresh1 * (g - first);
    second = beta2 * second + fresh2 * g * g;
    const T root = std::sqrt(second) * second_correction + epsilon;
    return weight_factor * weight - (along_gradient * g + along_moment * first) / root;
  }
};

}  // namespace

std::span<const Kernel> NadamUpdate::kernels() {
  return element_rule_kernels<NadamUpdate, NadamFormula>;
}

}  // namespace narrowgauge

NG_OPS(nadam_update, narrowgauge::NadamUpdate)
