// SPDX-License-Identifier: Apache-2.0
#include "ops/training/weight_update.h"

#include <algorithm>
#include <cmath>

#include "ops/no_gradient.h"
#include "ops/table.h"
#include "ops/training/update_op.h"

namespace narrowgauge {

void SgdUpdate::check(std::string_view who) const {
  check_momentum(who, {momentum, dampening, nesterov});
  require_size(who, "weight_decay", weight_decay);
}

std::vector<std::string_view> SgdUpdate::moments() const {
  if (momentum == 0) return {};
  return {"velocity"};
}

TensorTypes SgdUpdate::infer(const Inference& in) const {
  check(in.op_name());
  require(momentum == 0 || in.has(2), "SgdUpdate: momentum ", momentum, " needs a velocity");
  require(dampening == 0 || in.has(6), "SgdUpdate: dampening ", dampening, " needs applied_steps");
  return infer_update(in, narrow);
}

void AdamUpdate::check(std::string_view who) const {
  check_adam(who, {beta1, beta2, epsilon, weight_decay});
}

std::vector<std::string_view> AdamUpdate::moments() const {
  std::vector<std::string_view> names{"first_moment", "second_moment"};
  if (amsgrad) names.emplace_back("largest_second_moment");
  return names;
}

TensorTypes AdamUpdate::infer(const Inference& in) const {
  check(in.op_name());
  require(in.has(4) == amsgrad, "AdamUpdate: largest_second_moment goes with amsgrad");
  return infer_update(in, narrow);
}

namespace {

Offer offer_sgd(const Request& request) {
  const auto op = request.as<SgdUpdate>();
  const bool in_use[] = {op.momentum > 0};
  return offer_update(request, in_use, [op](UpdateCall& call) {
    cpu::SgdUpdate update;
    update.common = call.common;
    update.common.weight_decay = static_cast<float>(op.weight_decay);
    update.momentum = static_cast<float>(op.momentum);
    update.nesterov = op.nesterov;
    update.fresh = static_cast<float>(fresh_share(op.dampening, static_cast<double>(call.step)));
    if (op.maximize) update.common.multiplier = -update.common.multiplier;
    if (op.momentum > 0) update.velocity = call.moments[0];
    sgd_update(update);
  });
}

Offer offer_adam(const Request& request) {
  const auto op = request.as<AdamUpdate>();
  const bool in_use[] = {true, true, op.amsgrad};
  return offer_update(request, in_use, [op](UpdateCall& call) {
    cpu::AdamUpdate update;
    update.common = call.common;
    update.common.weight_decay = static_cast<float>(op.weight_decay);
    update.beta1 = static_cast<float>(op.beta1);
    update.beta2 = static_cast<float>(op.beta2);
    update.epsilon = static_cast<float>(op.epsilon);
    update.step = call.step;
    update.decoupled_decay = op.decoupled;
    update.first_moment = call.moments[0];
    update.second_moment = call.moments[1];
    if (op.amsgrad) update.largest_second_moment = call.moments[2];
    if (op.maximize) update.common.multiplier = -update.common.multiplier;
    adam_update(update);
  });
}

Offer sgd_reference(const Request& request) {
  const auto op = request.as<SgdUpdate>();
  const bool keeps_velocity = request.inputs[2].present;
  return reference_update(request, [=](UpdateElement& e) {
    const double gradient = op.maximize ? -e.gradient : e.gradient;
    const double g = gradient + op.weight_decay * e.weight;
    const double velocity =
        keeps_velocity ? op.momentum * e.moments[0] + fresh_share(op.dampening, e.step) * g : g;
    e.moments[0] = velocity;
    e.weight -= e.learning_rate * (op.nesterov ? g + op.momentum * velocity : velocity);
  });
}

Offer adam_reference(const Request& request) {
  const auto op = request.as<AdamUpdate>();
  return reference_update(request, [op](UpdateElement& e) {
    const double correction1 = 1 - std::pow(op.beta1, e.step);
    const double correction2 = 1 - std::pow(op.beta2, e.step);
    double &first = e.moments[0], &second = e.moments[1], &largest = e.moments[2];
    double g = op.maximize ? -e.gradient : e.gradient;
    if (op.decoupled)
      e.weight -= e.learning_rate * op.weight_decay * e.weight;
    else
      g += op.weight_decay * e.weight;
    first = op.beta1 * first + (1 - op.beta1) * g;
    second = op.beta2 * second + (1 - op.beta2) * g * g;
    largest = std::max(largest, second);
    const double root = std::sqrt((op.amsgrad ? largest : second) / correction2) + op.epsilon;
    e.weight -= e.learning_rate * (first / correction1) / root;
  });
}

constexpr Kernel sgd_kernels[] = {{"rows", offer_sgd}, {"reference", sgd_reference}};
constexpr Kernel adam_kernels[] = {{"rows", offer_adam}, {"reference", adam_reference}};

}  // namespace

std::span<const Kernel> SgdUpdate::kernels() { return sgd_kernels; }
std::span<const Kernel> AdamUpdate::kernels() { return adam_kernels; }

}  // namespace narrowgauge

NG_OPS(weight_update, narrowgauge::SgdUpdate, narrowgauge::AdamUpdate)
NG_NO_GRADIENT(weight_update, "update of weights", narrowgauge::SgdUpdate, narrowgauge::AdamUpdate)
