// SPDX-License-Identifier: Apache-2.0
#include "ops/training/lars_update.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/update/gradient_health.h"
#include "ops/table.h"
#include "ops/training/update_op.h"

namespace narrowgauge {

void LarsUpdate::check(std::string_view who) const {
  check_momentum(who, {momentum, dampening, nesterov});
  require_size(who, "weight_decay", weight_decay);
  require_size(who, "trust_coefficient", trust_coefficient);
  require_size(who, "epsilon", epsilon);
}

std::vector<std::string_view> LarsUpdate::moments() const {
  if (momentum == 0) return {};
  return {"velocity"};
}

TensorTypes LarsUpdate::infer(const Inference& in) const {
  check(in.op_name());
  require(momentum == 0 || in.has(2), "LarsUpdate: momentum ", momentum, " needs a velocity");
  require(dampening == 0 || in.has(6), "LarsUpdate: dampening ", dampening, " needs applied_steps");
  return infer_update(in, narrow);
}

double LarsUpdate::trust_ratio(double weight_norm, double gradient_norm,
                               double learning_rate) const {
  if (weight_decay == 0 && !always_adapt) return 1;
  double ratio = 1;
  if (weight_norm > 0 && gradient_norm > 0)
    ratio =
        trust_coefficient * weight_norm / (gradient_norm + weight_norm * weight_decay + epsilon);
  return trust_clip ? std::min(ratio / learning_rate, 1.0) : ratio;
}

namespace {

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

Offer offer_lars(const Request& request) {
  const auto op = request.as<LarsUpdate>();
  const bool in_use[] = {op.momentum > 0};
  Offer offer = offer_update(request, in_use, [op](UpdateCall& call) {
    cpu::SgdUpdate update;
    update.common = call.common;
    const cpu::UpdateCommon& common = call.common;
    const auto norm_of = [&](cpu::ConstArray array) {
      const cpu::GradientBuffer buffer{array, common.count};
      return std::sqrt(cpu::gradient_health({&buffer, 1}, 1, call.workspace).sum_of_squares);
    };
    const double multiplier = double{common.multiplier};
    const double ratio =
        op.trust_ratio(norm_of(common.weight), norm_of(common.gradient) * std::abs(multiplier),
                       double{common.learning_rate});
    update.common.multiplier = static_cast<float>(multiplier * ratio);
    update.common.weight_decay = static_cast<float>(op.weight_decay * ratio);
    update.momentum = static_cast<float>(op.momentum);
    update.nesterov = op.nesterov;
    update.fresh = static_cast<float>(fresh_share(op.dampening, static_cast<double>(call.step)));
    if (op.momentum > 0) update.velocity = call.moments[0];
    sgd_update(update);
  });
  const cpu::GradientBuffer weight{{}, element_count(request.inputs[0].dims)};
  offer.workspace = cpu::gradient_health_workspace({&weight, 1});
  return offer;
}

Offer lars_reference(const Request& request) {
  const auto op = request.as<LarsUpdate>();
  return reference_update_of_arrays(request, [op](UpdateArrays& arrays) {
    const double rate = arrays.learning_rate, fresh = fresh_share(op.dampening, arrays.step);
    const double ratio = op.trust_ratio(norm(arrays.weight), norm(arrays.gradient), rate);
    for (std::size_t i = 0; i < arrays.weight.size(); ++i) {
      double &weight = arrays.weight[i], &velocity = arrays.moments[0][i];
      const double g = ratio * (arrays.gradient[i] + op.weight_decay * weight);
      velocity = op.momentum > 0 ? op.momentum * velocity + fresh * g : g;
      weight -= rate * (op.nesterov ? g + op.momentum * velocity : velocity);
    }
  });
}

constexpr Kernel lars_kernels[] = {{"rows", offer_lars}, {"reference", lars_reference}};

}  // namespace

std::span<const Kernel> LarsUpdate::kernels() { return lars_kernels; }

}  // namespace narrowgauge

NG_OPS(lars_update, narrowgauge::LarsUpdate)
