// SPDX-License-Identifier: Apache-2.0
#include "ops/training/update_op.h"

#include <limits>

#include "ops/shape/axis.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

using Float = std::numeric_limits<float>;

// Indices of the ports after the moments.
struct UpdatePorts {
  std::size_t moments;
  std::size_t learning_rate() const { return 2 + moments; }
  std::size_t multiplier() const { return 3 + moments; }
  std::size_t applied() const { return 4 + moments; }
  std::size_t applied_steps() const { return 5 + moments; }
  std::size_t narrow_weight() const { return 1 + moments; }
};

std::string decline_reason(const Request& request, std::span<const bool> in_use) {
  const UpdatePorts ports{in_use.size()};
  const Operand& copy = request.outputs[ports.narrow_weight()];
  if (request.inputs[0].dtype != DType::f32)
    return concat("a weight of ", request.inputs[0].dtype, ", not f32");
  if (!is_f32_or_narrow(request.inputs[1].dtype))
    return concat("a gradient of ", request.inputs[1].dtype);
  for (const std::size_t scalar : {ports.learning_rate(), ports.multiplier()})
    if (request.inputs[scalar].dtype != DType::f32)
      return concat("scalars of ", request.inputs[scalar].dtype, ", not f32");
  if (copy.present && !is_f32_or_narrow(copy.dtype)) return concat("a narrow copy of ", copy.dtype);
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (operand.present && !is_dense(operand)) return "operands with gaps";
  if (!request.outputs[0].present) return "nobody reads the weight";
  for (std::size_t i = 0; i < in_use.size(); ++i)
    if (request.outputs[1 + i].present != in_use[i])
      return in_use[i] ? "nobody reads a moment" : "a moment that the rule does not keep";
  return {};
}

}  // namespace

void require_size(std::string_view who, std::string_view what, double value) {
  require(value == 0 || (value >= double{Float::min()} && value <= double{Float::max()}), who,
          ": expected ", what, " of 0, or from 1.2e-38 to 3.4e38 as f32 holds it, got ", value);
}

void require_share(std::string_view who, std::string_view what, double value) {
  require(value >= 0 && value < 1, who, ": expected ", what, " from 0 to below 1, got ", value);
}

void check_adam(std::string_view who, const AdamNumbers& numbers) {
  require_share(who, "beta1", numbers.beta1);
  require_share(who, "beta2", numbers.beta2);
  require_size(who, "epsilon", numbers.epsilon);
  require(numbers.epsilon > 0, who, ": expected epsilon above 0, got ", numbers.epsilon);
  require_size(who, "weight_decay", numbers.weight_decay);
}

void check_momentum(std::string_view who, const MomentumNumbers& numbers) {
  require_share(who, "momentum", numbers.momentum);
  require(!numbers.nesterov || numbers.momentum > 0, who,
          ": expected momentum above 0 with nesterov, got ", numbers.momentum);
  require_share(who, "dampening", numbers.dampening);
  require(!numbers.nesterov || numbers.dampening == 0, who,
          ": expected dampening of 0 with nesterov, got ", numbers.dampening);
}

TensorTypes infer_update(const Inference& in, int moments, DType narrow) {
  for (int i = 1; i < 2 + moments; ++i)
    require(!in.has(i) || in.shape(i) == in.shape(0), in.op_name(), ": expected input ", i,
            " of the weight's shape ", in.shape(0), ", got ", in.has(i) ? concat(in.type(i)) : "");
  for (int i = 2 + moments; i < in.count(); ++i)
    require(in.shape(i).empty(), in.op_name(), ": expected a scalar as input ", i, ", got ",
            in.type(i));
  TensorTypes types(static_cast<std::size_t>(1 + moments), in.type(0));
  types.push_back({narrow, in.shape(0)});
  return types;
}

Offer offer_update(const Request& request, std::span<const bool> in_use, UpdateKernel kernel) {
  std::string reason = decline_reason(request, in_use);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const UpdatePorts ports{in_use.size()};
  cpu::UpdateCommon usual;
  usual.count = element_count(request.inputs[0].dims);
  usual.gradient.dtype = request.inputs[1].dtype;
  usual.narrow_weight.dtype = request.outputs[ports.narrow_weight()].dtype;
  const bool counts = request.inputs.size() > ports.applied_steps() &&
                      request.inputs[ports.applied_steps()].present;
  Offer offer;
  offer.implementation = "rows";
  offer.in_place = {{0, 0}};
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < in_use.size(); ++i) {
    if (!in_use[i]) continue;
    kept.push_back(i);
    offer.in_place.push_back({static_cast<int>(2 + i), static_cast<int>(1 + i)});
  }
  offer.run = [=, kernel = std::move(kernel)](const KernelCall& call) {
    cpu::UpdateCommon common = usual;
    common.weight = call.inputs[0].as<const float>();
    common.gradient.data = call.inputs[1].data;
    common.next_weight = call.outputs[0].as<float>();
    common.narrow_weight.data = call.outputs[ports.narrow_weight()].data;
    common.narrow_weight.flushed = call.flushed_at(ports.narrow_weight());
    common.learning_rate = *call.inputs[ports.learning_rate()].as<const float>();
    common.multiplier = *call.inputs[ports.multiplier()].as<const float>();
    common.applied = *call.inputs[ports.applied()].as<const bool>();
    std::array<cpu::MomentArrays, cpu::most_moments> moments;
    for (std::size_t i = 0; i < kept.size(); ++i)
      moments[i] = {call.inputs[2 + kept[i]].as<const float>(),
                    call.outputs[1 + kept[i]].as<float>()};
    UpdateCall update{common, std::span(moments).first(kept.size()), 1, call.workspace};
    if (counts) update.step = *call.inputs[ports.applied_steps()].as<const std::int64_t>() + 1;
    kernel(update);
  };
  return offer;
}

Offer reference_update(const Request& request, int moments, UpdateFormula formula) {
  return reference_update_of_arrays(request, moments, [=](UpdateArrays& arrays) {
    UpdateElement element;
    element.learning_rate = arrays.learning_rate;
    element.step = arrays.step;
    for (std::size_t i = 0; i < arrays.weight.size(); ++i) {
      element.weight = arrays.weight[i];
      element.gradient = arrays.gradient[i];
      for (std::size_t m = 0; m < static_cast<std::size_t>(moments); ++m)
        element.moments[m] = arrays.moments[m][i];
      formula(element);
      arrays.weight[i] = element.weight;
      for (std::size_t m = 0; m < static_cast<std::size_t>(moments); ++m)
        arrays.moments[m][i] = element.moments[m];
    }
  });
}

namespace {

std::vector<double> doubles_of(const ReferenceView& view, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; view.present() && i < count; ++i)
    values[static_cast<std::size_t>(i)] = view[i];
  return values;
}

void store(const std::vector<double>& values, const ReferenceView& view) {
  for (std::int64_t i = 0; i < view.size(); ++i) view.set(i, values[static_cast<std::size_t>(i)]);
}

}  // namespace

Offer reference_update_of_arrays(const Request& request, int moments, ArraysFormula formula) {
  const UpdatePorts ports{static_cast<std::size_t>(moments)};
  return reference_offer(request, [=](const auto& in, const auto& out, const KernelCall&) {
    const std::int64_t count = in[0].size();
    UpdateArrays arrays;
    arrays.learning_rate = in[ports.learning_rate()][0];
    if (in.size() > ports.applied_steps() && in[ports.applied_steps()].present())
      arrays.step = static_cast<double>(in[ports.applied_steps()].integer(0) + 1);
    arrays.weight = doubles_of(in[0], count);
    arrays.gradient = doubles_of(in[1], count);
    const double multiplier = in[ports.multiplier()][0];
    for (double& value : arrays.gradient) value *= multiplier;
    for (std::size_t m = 0; m < ports.moments; ++m)
      arrays.moments[m] = doubles_of(in[2 + m], count);
    if (in[ports.applied()][0] != 0) formula(arrays);
    store(arrays.weight, out[0]);
    for (std::size_t m = 0; m < ports.moments; ++m) {
      if (!in[2 + m].present()) arrays.moments[m].assign(arrays.weight.size(), 0);
      store(arrays.moments[m], out[1 + m]);
    }
    store(arrays.weight, out[ports.narrow_weight()]);
  });
}

SampleInput sample_flag(bool value) { return sample(Tensor::scalar(DType::boolean, value)); }
SampleInput sample_number(double value) { return sample("f32[]", value, value); }

}  // namespace narrowgauge
