// SPDX-License-Identifier: Apache-2.0
#include "ops/training/lamb_update.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/update/gradient_health.h"
#include "ops/table.h"
#include "ops/training/update_op.h"

namespace narrowgauge {

void LambUpdate::check(std::string_view who) const {
  check_adam(who, {beta1, beta2, epsilon, weight_decay});
}

TensorTypes LambUpdate::infer(const Inference& in) const {
  check(in.op_name());
  return infer_update(in, narrow);
}

double LambUpdate::trust_ratio(double weight_norm, double update_norm) const {
  if (weight_decay == 0 && !always_adapt) return 1;
  if (!(weight_norm > 0 && update_norm > 0)) return 1;
  const double ratio = weight_norm / update_norm;
  return trust_clip ? std::min(ratio, 1.0) : ratio;
}

namespace {

// What is the same for all elements.
template <class T>
struct LambFactors {
  T fresh1, beta2, fresh2, epsilon, first_correction, second_correction, weight_decay;

  LambFactors(const LambUpdate& op, double step)
      : fresh1(static_cast<T>(1 - op.beta1)),
        beta2(static_cast<T>(op.beta2)),
        fresh2(static_cast<T>(1 - op.beta2)),
        epsilon(static_cast<T>(op.epsilon)),
        first_correction(static_cast<T>(1 / (1 - std::pow(op.beta1, step)))),
        second_correction(static_cast<T>(1 / std::sqrt(1 - std::pow(op.beta2, step)))),
        weight_decay(static_cast<T>(op.weight_decay)) {}

  void advance(T gradient, T& first, T& second) const {
    first += fresh1 * (gradient - first);
    second = beta2 * second + fresh2 * gradient * gradient;
  }
  // The update before its ratio, from the moments of this step.
  T update(T weight, T first, T second) const {
    const T root = std::sqrt(second) * second_correction + epsilon;
    return first * first_correction / root + weight_decay * weight;
  }
};

// The kernel's two passes: one makes the moments and the norms, one the weight.
class TwoPasses {
 public:
  TwoPasses(const LambUpdate& op, const UpdateCall& call)
      : op_(op), call_(call), factors_(op, static_cast<double>(call.step)) {}

  void run() const {
    if (!call_.common.applied)
      return cpu::update_by_strips(call_.common, call_.moments, [](const cpu::UpdateStrip&) {});
    const std::int64_t strips = cpu::ceil_divide(call_.common.count, cpu::strip_length);
    auto* const weight_squares = reinterpret_cast<double*>(call_.workspace);
    double* const update_squares = weight_squares + strips;
    cpu::UpdateCommon first_pass = call_.common;
    first_pass.next_weight = first_pass.narrow_weight = {};
    cpu::update_by_strips(first_pass, call_.moments, [&](const cpu::UpdateStrip& strip) {
      const std::int64_t place = strip.offset / cpu::strip_length;
      update_squares[place] = advance(strip);
      weight_squares[place] = cpu::square_sum({strip.weight}, 0, strip.count);
    });
    const double ratio =
        op_.trust_ratio(norm(weight_squares, strips), norm(update_squares, strips));
    const auto rate = static_cast<float>(double{call_.common.learning_rate} * ratio);
    cpu::update_by_strips(call_.common, next_moments(),
                          [&](const cpu::UpdateStrip& strip) { update(strip, rate); });
  }

 private:
  static double norm(const double* squares, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += squares[i];
    return std::sqrt(sum);
  }

  // Makes the moments of a strip; returns the sum of squares of its update.
  double advance(const cpu::UpdateStrip& strip) const {
    alignas(64) std::array<float, cpu::strip_length> updates;
    const float multiplier = call_.common.multiplier;
    const float *weight = strip.weight, *gradient = strip.gradient;
    const auto [first, next_first] = strip.moments[0];
    const auto [second, next_second] = strip.moments[1];
    const LambFactors<float> factors = factors_;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < strip.count; ++i) {
      float m = first[i], v = second[i];
      factors.advance(gradient[i] * multiplier, m, v);
      next_first[i] = m;
      next_second[i] = v;
      updates[static_cast<std::size_t>(i)] = factors.update(weight[i], m, v);
    }
    return cpu::square_sum({updates.data()}, 0, strip.count);
  }

  std::array<cpu::MomentArrays, 2> next_moments() const {
    float *first = call_.moments[0].next, *second = call_.moments[1].next;
    return {{{first, first}, {second, second}}};
  }

  void update(const cpu::UpdateStrip& strip, float rate) const {
    const float *weight = strip.weight, *first = strip.moments[0].now,
                *second = strip.moments[1].now;
    float* next_weight = strip.next_weight;
    const LambFactors<float> factors = factors_;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < strip.count; ++i)
      next_weight[i] = weight[i] - rate * factors.update(weight[i], first[i], second[i]);
  }

  const LambUpdate& op_;
  const UpdateCall& call_;
  LambFactors<float> factors_;
};

Offer offer_lamb(const Request& request) {
  constexpr bool in_use[] = {true, true};
  Offer offer = offer_update(request, in_use, [op = request.as<LambUpdate>()](UpdateCall& call) {
    TwoPasses(op, call).run();
  });
  const std::int64_t strips =
      cpu::ceil_divide(element_count(request.inputs[0].dims), cpu::strip_length);
  offer.workspace = 2 * strips * static_cast<std::int64_t>(sizeof(double));
  return offer;
}

Offer lamb_reference(const Request& request) {
  return reference_update_of_arrays(request, [op = request.as<LambUpdate>()](UpdateArrays& arrays) {
    const LambFactors<double> factors(op, arrays.step);
    std::vector<double> updates(arrays.weight.size());
    double weight_squares = 0, update_squares = 0;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      double &first = arrays.moments[0][i], &second = arrays.moments[1][i];
      factors.advance(arrays.gradient[i], first, second);
      updates[i] = factors.update(arrays.weight[i], first, second);
      weight_squares += arrays.weight[i] * arrays.weight[i];
      update_squares += updates[i] * updates[i];
    }
    const double rate =
        arrays.learning_rate * op.trust_ratio(std::sqrt(weight_squares), std::sqrt(update_squares));
    for (std::size_t i = 0; i < updates.size(); ++i) arrays.weight[i] -= rate * updates[i];
  });
}

constexpr Kernel lamb_kernels[] = {{"rows", offer_lamb}, {"reference", lamb_reference}};

}  // namespace

std::span<const Kernel> LambUpdate::kernels() { return lamb_kernels; }

}  // namespace narrowgauge

NG_OPS(lamb_update, narrowgauge::LambUpdate)
