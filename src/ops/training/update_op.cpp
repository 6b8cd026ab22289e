// SPDX-License-Identifier: Apache-2.0
#include "ops/training/update_op.h"

#include <limits>

#include "ops/axes/axis.h"
#include "ops/nn/random_key.h"
#include "ops/training/update_ports.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

using Float = std::numeric_limits<float>;

std::string decline_reason(const Request& request, const UpdatePorts& ports,
                           std::span<const bool> in_use) {
  if (!is_f32_or_narrow(request.input(0).dtype))
    return concat("a weight of ", request.input(0).dtype);
  if (!is_f32_or_narrow(request.input(1).dtype))
    return concat("a gradient of ", request.input(1).dtype);
  for (int m = 0; m < ports.moments; ++m)
    if (const Operand& moment = request.input(UpdatePorts::first_moment + m);
        moment.present && moment.dtype != DType::f32)
      return concat("a moment of ", moment.dtype, ", not f32");
  for (const int scalar : {ports.learning_rate, ports.multiplier})
    if (request.input(scalar).dtype != DType::f32)
      return concat("scalars of ", request.input(scalar).dtype, ", not f32");
  const Operand& copy = request.output(ports.narrow_weight);
  if (copy.present && !is_f32_or_narrow(copy.dtype)) return concat("a narrow copy of ", copy.dtype);
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (operand.present && !is_dense(operand)) return "operands with gaps";
  if (!request.output(0).present) return "nobody reads the weight";
  if (is_given(request, ports.compensation) && !request.output(ports.next_compensation).present)
    return "nobody reads the compensation";
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

void check_rounding(const Inference& in, int compensation, int random_key) {
  const bool compensated = in.has(compensation), random = in.has(random_key);
  require(is_narrow(in.dtype(0)) || (!compensated && !random), in.op_name(),
          ": compensation and random_key go with a weight of f16 or bf16, got ", in.type(0));
  require(!compensated || in.type(compensation) == in.type(0), in.op_name(),
          ": expected a compensation of the weight's type ", in.type(0), ", got ",
          compensated ? concat(in.type(compensation)) : "");
  require(!compensated || !random, in.op_name(),
          ": expected a compensation or a random_key, got both");
  if (random) require_random_key(in, random_key);
}

bool is_given(const Request& request, int input) {
  return input >= 0 && input < std::ssize(request.inputs) && request.input(input).present;
}

View given(const KernelCall& call, int input) {
  return input >= 0 && input < std::ssize(call.inputs) ? call.input(input) : View{};
}

TensorTypes infer_update(const Inference& in, DType narrow) {
  const UpdatePorts ports(in.op());
  for (int i = 1; i < ports.learning_rate; ++i)
    require(!in.has(i) || in.shape(i) == in.shape(0), in.op_name(), ": expected input ", i,
            " of the weight's shape ", in.shape(0), ", got ", in.has(i) ? concat(in.type(i)) : "");
  for (const int i : {ports.learning_rate, ports.multiplier, ports.applied, ports.applied_steps}) {
    if (i < 0 || !in.has(i)) continue;
    require(in.shape(i).empty(), in.op_name(), ": expected a scalar as input ", i, ", got ",
            in.type(i));
  }
  if (ports.compensation >= 0) check_rounding(in, ports.compensation, ports.random_key);
  TensorTypes types{in.type(0)};
  for (int m = 0; m < ports.moments; ++m) {
    const int moment = UpdatePorts::first_moment + m;
    const DType usual = is_narrow(in.dtype(0)) ? DType::f32 : in.dtype(0);
    types.push_back({in.has(moment) ? in.dtype(moment) : usual, in.shape(0)});
  }
  types.push_back({narrow, in.shape(0)});
  if (ports.compensation >= 0 && in.has(ports.compensation)) types.push_back(in.type(0));
  return types;
}

namespace {

// Where a kernel may write new values over old ones.
std::vector<InPlace> in_place_pairs(const Request& request, const UpdatePorts& ports,
                                    std::span<const bool> in_use) {
  std::vector<InPlace> pairs{{0, 0}};
  for (int i = 0; i < std::ssize(in_use); ++i)
    if (in_use[static_cast<std::size_t>(i)])
      pairs.push_back({UpdatePorts::first_moment + i, UpdatePorts::first_next_moment + i});
  if (is_given(request, ports.compensation))
    pairs.push_back({ports.compensation, ports.next_compensation});
  return pairs;
}

// What all rules have, without the pointers of a run.
cpu::UpdateCommon common_of(const Request& request, const UpdatePorts& ports) {
  cpu::UpdateCommon common;
  common.count = element_count(request.input(0).dims);
  common.weight.dtype = common.next_weight.dtype = request.input(0).dtype;
  common.compensation.dtype = common.next_compensation.dtype = request.input(0).dtype;
  common.gradient.dtype = request.input(1).dtype;
  common.narrow_weight.dtype = request.output(ports.narrow_weight).dtype;
  return common;
}

void take_pointers(cpu::UpdateCommon& common, const KernelCall& call, const UpdatePorts& ports) {
  common.weight.data = call.input(0).data;
  common.gradient.data = call.input(1).data;
  common.next_weight.data = call.output(0).data;
  common.narrow_weight.data = call.output(ports.narrow_weight).data;
  common.narrow_weight.flushed = call.flushed_at(static_cast<std::size_t>(ports.narrow_weight));
  common.learning_rate = *call.input(ports.learning_rate).as<const float>();
  common.multiplier = *call.input(ports.multiplier).as<const float>();
  common.applied = *call.input(ports.applied).as<const bool>();
  if (const View lost = given(call, ports.compensation); lost.data) {
    common.compensation.data = lost.data;
    common.next_compensation.data = call.output(ports.next_compensation).data;
  }
  if (const View key = given(call, ports.random_key); key.data)
    common.random = stream_of_key(key.as<const std::int64_t>());
}

}  // namespace

Offer offer_update(const Request& request, std::span<const bool> in_use, UpdateKernel kernel) {
  const UpdatePorts ports(request.op);
  std::string reason = decline_reason(request, ports, in_use);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  std::vector<int> kept;
  for (int i = 0; i < std::ssize(in_use); ++i)
    if (in_use[static_cast<std::size_t>(i)]) kept.push_back(i);
  Offer offer;
  offer.implementation = "rows";
  offer.in_place = in_place_pairs(request, ports, in_use);
  const bool counts = is_given(request, ports.applied_steps);
  offer.run = [=, usual = common_of(request, ports),
               kernel = std::move(kernel)](const KernelCall& call) {
    cpu::UpdateCommon common = usual;
    take_pointers(common, call, ports);
    std::array<cpu::MomentArrays, cpu::most_moments> moments;
    for (std::size_t i = 0; i < kept.size(); ++i)
      moments[i] = {call.input(UpdatePorts::first_moment + kept[i]).as<const float>(),
                    call.output(UpdatePorts::first_next_moment + kept[i]).as<float>()};
    UpdateCall update{common, std::span(moments).first(kept.size()), 1, call.workspace};
    if (counts) update.step = *call.input(ports.applied_steps).as<const std::int64_t>() + 1;
    kernel(update);
  };
  return offer;
}

}  // namespace narrowgauge
