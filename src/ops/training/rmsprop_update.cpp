// SPDX-License-Identifier: Apache-2.0
#include "ops/training/rmsprop_update.h"

#include <algorithm>
#include <cmath>

#include "ops/no_gradient.h"
#include "ops/table.h"
#include "ops/training/update_op.h"

namespace narrowgauge {

void RmspropUpdate::check(std::string_view who) const {
  require_share(who, "alpha", alpha);
  require_size(who, "epsilon", epsilon);
  require(epsilon > 0, who, ": expected epsilon above 0, got ", epsilon);
  require_share(who, "momentum", momentum);
  require_size(who, "weight_decay", weight_decay);
}

std::vector<std::string_view> RmspropUpdate::moments() const {
  std::vector<std::string_view> names{"square_average"};
  if (centered) names.emplace_back("gradient_average");
  if (momentum > 0) names.emplace_back("velocity");
  return names;
}

TensorTypes RmspropUpdate::infer(const Inference& in) const {
  check(in.op_name());
  require(in.has(3) == centered && in.has(4) == (momentum > 0),
          "RmspropUpdate: gradient_average goes with centered, velocity with momentum");
  return infer_update(in, narrow);
}

namespace {

// The formula for one element, in f32 for strips and in f64 as the reference.
template <class T>
struct RmspropFactors {
  T alpha, fresh, epsilon, momentum, weight_decay;

  explicit RmspropFactors(const RmspropUpdate& op)
      : alpha(static_cast<T>(op.alpha)),
        fresh(static_cast<T>(1 - op.alpha)),
        epsilon(static_cast<T>(op.epsilon)),
        momentum(static_cast<T>(op.momentum)),
        weight_decay(static_cast<T>(op.weight_decay)) {}

  // The velocity to go along; the gradient is the true one.
  template <bool Centered, bool Momentum>
  T next(T weight, T gradient, T& square, T& mean, T& velocity) const {
    const T g = gradient + weight_decay * weight;
    square = alpha * square + fresh * g * g;
    T variance = square;
    if constexpr (Centered) {
      mean = alpha * mean + fresh * g;
      variance = std::max(T(0), square - mean * mean);
    }
    const T change = g / (std::sqrt(variance) + epsilon);
    if constexpr (!Momentum) return change;
    return velocity = momentum * velocity + change;
  }
};

template <bool Centered, bool Momentum>
void update_strip(const RmspropFactors<float>& factors, float multiplier, float rate,
                  const cpu::UpdateStrip& strip) {
  const float *weight = strip.weight, *gradient = strip.gradient;
  float* next_weight = strip.next_weight;
  const auto [square, next_square] = strip.moments[0];
  const auto [mean, next_mean] = strip.moments[1];
  const auto [velocity, next_velocity] = strip.moments[Centered ? 2 : 1];
#pragma GCC ivdep
  for (std::int64_t i = 0; i < strip.count; ++i) {
    float s = square[i], m = 0, v = 0;
    if constexpr (Centered) m = mean[i];
    if constexpr (Momentum) v = velocity[i];
    const float step =
        factors.next<Centered, Momentum>(weight[i], gradient[i] * multiplier, s, m, v);
    next_square[i] = s;
    if constexpr (Centered) next_mean[i] = m;
    if constexpr (Momentum) next_velocity[i] = v;
    next_weight[i] = weight[i] - rate * step;
  }
}

// Calls `call` with <Centered, Momentum> of the op as types.
template <class Call>
auto with_kind(const RmspropUpdate& op, const Call& call) {
  if (op.centered)
    return op.momentum > 0 ? call.template operator()<true, true>()
                           : call.template operator()<true, false>();
  return op.momentum > 0 ? call.template operator()<false, true>()
                         : call.template operator()<false, false>();
}

Offer offer_rmsprop(const Request& request) {
  const auto op = request.as<RmspropUpdate>();
  const bool in_use[] = {true, op.centered, op.momentum > 0};
  const auto strip = with_kind(op, []<bool C, bool M>() { return &update_strip<C, M>; });
  return offer_update(request, in_use, [=, factors = RmspropFactors<float>(op)](UpdateCall& call) {
    const cpu::UpdateCommon& common = call.common;
    const float multiplier = op.maximize ? -common.multiplier : common.multiplier;
    cpu::update_by_strips(common, call.moments, [&](const cpu::UpdateStrip& each) {
      strip(factors, multiplier, common.learning_rate, each);
    });
  });
}

Offer rmsprop_reference(const Request& request) {
  const auto op = request.as<RmspropUpdate>();
  return reference_update(request, [op, factors = RmspropFactors<double>(op)](UpdateElement& e) {
    const double step = with_kind(op, [&]<bool C, bool M>() {
      return factors.next<C, M>(e.weight, op.maximize ? -e.gradient : e.gradient, e.moments[0],
                                e.moments[1], e.moments[2]);
    });
    e.weight -= e.learning_rate * step;
  });
}

constexpr Kernel rmsprop_kernels[] = {{"rows", offer_rmsprop}, {"reference", rmsprop_reference}};

}  // namespace

std::span<const Kernel> RmspropUpdate::kernels() { return rmsprop_kernels; }

}  // namespace narrowgauge

NG_OPS(rmsprop_update, narrowgauge::RmspropUpdate)
NG_NO_GRADIENT(rmsprop_update, "update of weights", narrowgauge::RmspropUpdate)
