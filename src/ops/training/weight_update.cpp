// SPDX-License-Identifier: Apache-2.0
#include "ops/training/weight_update.h"

#include <cmath>

#include "kernels/cpu/update/optimizer.h"
#include "ops/reference.h"
#include "ops/shape/axis.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

void require_like_weight(const Inference& in, int input) {
  require(in.shape(input) == in.shape(0), in.op_name(), ": expected input ", input,
          " of the weight's shape ", in.shape(0), ", got ", in.type(input));
}

void require_scalars(const Inference& in, int first) {
  for (int i = first; i < in.count(); ++i)
    require(in.shape(i).empty(), in.op_name(), ": expected a scalar as input ", i, ", got ",
            in.type(i));
}

void require_in(std::string_view op, std::string_view what, double value, double below) {
  require(value >= 0 && value < below, op, ": ", what, " must be at least 0 and less than ", below,
          ", got ", value);
}

constexpr double any_size = std::numeric_limits<double>::infinity();

}  // namespace

TensorTypes SgdUpdate::infer(const Inference& in) const {
  require_like_weight(in, 1);
  if (in.has(2)) require_like_weight(in, 2);
  require_scalars(in, 3);
  require(momentum == 0 || in.has(2), "SgdUpdate: momentum ", momentum, " needs a velocity");
  require(!nesterov || (momentum > 0 && dampening == 0),
          "SgdUpdate: nesterov needs momentum and no dampening");
  require_in("SgdUpdate", "momentum", momentum, 1);
  require_in("SgdUpdate", "dampening", dampening, 1);
  require_in("SgdUpdate", "weight_decay", weight_decay, any_size);
  return {in.type(0), in.type(0), {narrow, in.shape(0)}};
}

TensorTypes AdamUpdate::infer(const Inference& in) const {
  for (const int input : {1, 2, 3}) require_like_weight(in, input);
  require_scalars(in, 4);
  require_in("AdamUpdate", "beta1", beta1, 1);
  require_in("AdamUpdate", "beta2", beta2, 1);
  require_in("AdamUpdate", "weight_decay", weight_decay, any_size);
  require(epsilon > 0, "AdamUpdate: epsilon must be positive, got ", epsilon);
  return {in.type(0), in.type(0), in.type(0), {narrow, in.shape(0)}};
}

namespace {

bool is_storage(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

// `copy` is the index of the output with the narrow copy.
std::string update_reason(const Request& request, std::size_t copy) {
  if (request.inputs[0].dtype != DType::f32)
    return concat("a weight of ", request.inputs[0].dtype, ", not f32");
  if (!is_storage(request.inputs[1].dtype))
    return concat("a gradient of ", request.inputs[1].dtype);
  if (request.outputs[copy].present && !is_storage(request.outputs[copy].dtype))
    return concat("a narrow copy of ", request.outputs[copy].dtype);
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (operand.present && !is_dense(operand)) return "operands with gaps";
  if (!request.outputs[0].present) return "nobody reads the weight";
  return {};
}

// `scalars` is the first of learning_rate, multiplier and applied; `copy` as in update_reason().
cpu::UpdateCommon common_of(const KernelCall& call, std::int64_t count, std::size_t scalars,
                            std::size_t copy) {
  cpu::UpdateCommon common;
  common.count = count;
  common.weight = call.inputs[0].as<const float>();
  common.gradient.data = call.inputs[1].data;
  common.next_weight = call.outputs[0].as<float>();
  common.narrow_weight.data = call.outputs[copy].data;
  common.narrow_weight.flushed = call.flushed_at(copy);
  common.learning_rate = *call.inputs[scalars].as<const float>();
  common.multiplier = *call.inputs[scalars + 1].as<const float>();
  common.applied = *call.inputs[scalars + 2].as<const bool>();
  return common;
}

Offer offer_sgd(const Request& request) {
  const auto op = request.as<SgdUpdate>();
  std::string reason = update_reason(request, 2);
  if (op.dampening != 0) reason = concat("dampening ", op.dampening);
  if (request.outputs[1].present != (op.momentum > 0))
    reason = op.momentum > 0 ? "nobody reads the velocity" : "a velocity without momentum";
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const std::int64_t count = element_count(request.inputs[0].dims);
  const DType gradient = request.inputs[1].dtype;
  Offer offer;
  offer.implementation = "rows";
  offer.in_place = {{0, 0}, {2, 1}};
  offer.run = [op, count, gradient](const KernelCall& call) {
    cpu::SgdUpdate update;
    update.common = common_of(call, count, 3, 2);
    update.common.gradient.dtype = gradient;
    update.common.narrow_weight.dtype = op.narrow;
    update.common.weight_decay = static_cast<float>(op.weight_decay);
    update.momentum = static_cast<float>(op.momentum);
    update.nesterov = op.nesterov;
    update.momentum_buffer = call.inputs[2].as<const float>();
    update.next_momentum_buffer = call.outputs[1].as<float>();
    sgd_update(update);
  };
  return offer;
}

Offer offer_adam(const Request& request) {
  std::string reason = update_reason(request, 3);
  if (!request.outputs[1].present || !request.outputs[2].present) reason = "nobody reads a moment";
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto op = request.as<AdamUpdate>();
  const std::int64_t count = element_count(request.inputs[0].dims);
  const DType gradient = request.inputs[1].dtype;
  Offer offer;
  offer.implementation = "rows";
  offer.in_place = {{0, 0}, {2, 1}, {3, 2}};
  offer.run = [op, count, gradient](const KernelCall& call) {
    cpu::AdamUpdate update;
    update.common = common_of(call, count, 4, 3);
    update.common.gradient.dtype = gradient;
    update.common.narrow_weight.dtype = op.narrow;
    update.common.weight_decay = static_cast<float>(op.weight_decay);
    update.beta1 = static_cast<float>(op.beta1);
    update.beta2 = static_cast<float>(op.beta2);
    update.epsilon = static_cast<float>(op.epsilon);
    update.step = *call.inputs[7].as<const std::int64_t>() + 1;
    update.decoupled_decay = op.decoupled;
    update.first_moment = call.inputs[2].as<const float>();
    update.second_moment = call.inputs[3].as<const float>();
    update.next_first_moment = call.outputs[1].as<float>();
    update.next_second_moment = call.outputs[2].as<float>();
    adam_update(update);
  };
  return offer;
}

Offer reference_sgd(const Request& request) {
  const auto op = request.as<SgdUpdate>();
  const bool has_velocity = request.inputs[2].present;
  return reference_offer(request, [=](const auto& in, const auto& out, const KernelCall&) {
    const double learning_rate = in[3][0], multiplier = in[4][0];
    const bool applied = in[5][0] != 0;
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      double weight = in[0][i], velocity = has_velocity ? in[2][i] : 0.0;
      if (applied) {
        const double g = in[1][i] * multiplier + op.weight_decay * weight;
        velocity = has_velocity ? op.momentum * velocity + (1 - op.dampening) * g : g;
        weight -= learning_rate * (op.nesterov ? g + op.momentum * velocity : velocity);
      }
      out[0].set(i, weight);
      out[1].set(i, has_velocity ? velocity : 0.0);
      out[2].set(i, weight);
    }
  });
}

Offer reference_adam(const Request& request) {
  const auto op = request.as<AdamUpdate>();
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    const double learning_rate = in[4][0], multiplier = in[5][0];
    const bool applied = in[6][0] != 0;
    const auto step = static_cast<double>(in[7].integer(0) + 1);
    const double correction1 = 1 - std::pow(op.beta1, step);
    const double correction2 = 1 - std::pow(op.beta2, step);
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      double weight = in[0][i], first = in[2][i], second = in[3][i];
      if (applied) {
        double g = in[1][i] * multiplier;
        if (op.decoupled)
          weight -= learning_rate * op.weight_decay * weight;
        else
          g += op.weight_decay * weight;
        first = op.beta1 * first + (1 - op.beta1) * g;
        second = op.beta2 * second + (1 - op.beta2) * g * g;
        const double root = std::sqrt(second / correction2) + op.epsilon;
        weight -= learning_rate * (first / correction1) / root;
      }
      out[0].set(i, weight);
      out[1].set(i, first);
      out[2].set(i, second);
      out[3].set(i, weight);
    }
  });
}

constexpr Kernel sgd_kernels[] = {{"rows", offer_sgd}, {"reference", reference_sgd}};
constexpr Kernel adam_kernels[] = {{"rows", offer_adam}, {"reference", reference_adam}};

SampleInput flag(bool value) { return sample(Tensor::scalar(DType::boolean, value)); }
SampleInput number(double value) {
  SampleInput input = sample("f32[]", value, value);
  return input;
}

}  // namespace

std::span<const Kernel> SgdUpdate::kernels() { return sgd_kernels; }
std::span<const Kernel> AdamUpdate::kernels() { return adam_kernels; }

std::vector<Sample<SgdUpdate>> SgdUpdate::samples() {
  std::vector<Sample<SgdUpdate>> all;
  for (const bool applied : {true, false}) {
    const SampleInput w = sample("f32[3,7]"), g = sample("f32[3,7]", -100, 100);
    all.push_back({{}, {w, g, no_sample(), number(0.1), number(0.01), flag(applied)}});
    all.push_back({{.momentum = 0.9, .weight_decay = 0.1},
                   {w, g, sample("f32[3,7]"), number(0.1), number(0.01), flag(applied)}});
    all.push_back({{.momentum = 0.9, .nesterov = true, .narrow = DType::bf16},
                   {w, g, sample("f32[3,7]"), number(0.1), number(0.01), flag(applied)}});
    all.push_back({{.momentum = 0.9, .dampening = 0.5},
                   {w, g, sample("f32[3,7]"), number(0.1), number(0.01), flag(applied)}});
  }
  return all;
}

std::vector<Sample<AdamUpdate>> AdamUpdate::samples() {
  std::vector<Sample<AdamUpdate>> all;
  const SampleInput steps = sample(Tensor::scalar(DType::i64, 4));
  for (const bool applied : {true, false})
    for (const bool decoupled_decay : {true, false})
      all.push_back({{.epsilon = 1e-3,
                      .weight_decay = 0.1,
                      .decoupled = decoupled_decay,
                      .narrow = DType::f16},
                     {sample("f32[3,7]"), sample("f32[3,7]", -100, 100), sample("f32[3,7]"),
                      sample("f32[3,7]", 0, 1), number(0.01), number(0.01), flag(applied), steps}});
  return all;
}

}  // namespace narrowgauge

NG_OPS(weight_update, narrowgauge::SgdUpdate, narrowgauge::AdamUpdate)
