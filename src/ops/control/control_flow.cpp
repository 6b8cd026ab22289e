// SPDX-License-Identifier: Apache-2.0
#include "ops/control/control_flow.h"

#include <algorithm>

#include "base/enumerate.h"
#include "ops/activation/relu.h"
#include "ops/composition/region_call.h"
#include "ops/control/prepared_regions.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

void require_body(std::string_view op, const Region& body, int inputs) {
  require(body != nullptr, op, ": a region is missing");
  require(std::ssize(body->inputs()) == inputs, op, ": its region takes ", body->inputs().size(),
          " inputs, got ", inputs);
}

void require_input(std::string_view op, const Region& body, int index, const TensorType& given) {
  const TensorType& wanted = body->type(body->inputs()[static_cast<std::size_t>(index)]);
  require(wanted == given, op, ": input ", index, " of its region is ", wanted, ", got ", given);
}

const TensorType& output_type(const Region& body, std::size_t index) {
  return body->type(body->outputs()[index].value);
}

}  // namespace

TensorTypes If::infer(const Inference& in) const {
  TensorTypes types;
  for (const Region& branch : {then_branch, else_branch}) {
    require_body("If", branch, in.count() - 1);
    for (int i = 1; i < in.count(); ++i) require_input("If", branch, i - 1, in.type(i));
  }
  require(then_branch->outputs().size() == else_branch->outputs().size(), "If: its branches have ",
          then_branch->outputs().size(), " and ", else_branch->outputs().size(), " outputs");
  for (std::size_t o = 0; o < then_branch->outputs().size(); ++o) {
    require(output_type(then_branch, o) == output_type(else_branch, o), "If: output ", o, " is ",
            output_type(then_branch, o), " in one branch, ", output_type(else_branch, o),
            " in the other");
    types.push_back(output_type(then_branch, o));
  }
  return types;
}

namespace {

int output_count(const Region& body) { return static_cast<int>(body->outputs().size()); }

}  // namespace

std::vector<RegionPorts> If::region_ports(int inputs) const {
  RegionPorts ports;
  for (int i = 1; i < inputs; ++i) ports.inputs.push_back(i);
  for (int o = 0; o < output_count(then_branch); ++o) {
    ports.outputs.push_back(o);
    ports.next.push_back(-1);
  }
  return {ports, ports};
}

std::vector<RegionPorts> Loop::region_ports(int inputs) const {
  RegionPorts ports{{-1, -1}, {-1}, {1}};  // iteration and condition; the next condition
  for (int i = 2; i < inputs; ++i) ports.inputs.push_back(i);
  for (int o = 1; o < output_count(body); ++o) {
    ports.outputs.push_back(o - 1);
    ports.next.push_back(o <= carried ? o + 1 : -1);
  }
  return {ports};
}

std::vector<RegionPorts> Scan::region_ports(int inputs) const {
  RegionPorts ports;
  const int states = state_count(inputs);
  for (int i = 0; i < inputs; ++i) ports.inputs.push_back(i);
  for (int o = 0; o < output_count(body); ++o) {
    ports.outputs.push_back(o);
    ports.next.push_back(o < states ? o : -1);
  }
  return {ports};
}

Values If::gradient(Gradient& g) const {
  std::vector<int> outputs, inputs;
  Values operands{g.input(0)};
  for (int i = 1; i < g.input_count(); ++i) {
    operands.push_back(g.input(i));
    if (g.wants(i)) inputs.push_back(i - 1);
  }
  for (int o = 0; o < static_cast<int>(then_branch->outputs().size()); ++o)
    if (g.has_output_gradient(o)) {
      outputs.push_back(o);
      operands.push_back(g.output_gradient(o));
    }
  const Value made = g.add(If{g.differentiate(then_branch, outputs, inputs),
                              g.differentiate(else_branch, outputs, inputs),
                              stream.empty() ? g.graph().producer(g.output()).name : stream},
                           operands);
  Values gradients = g.absent_inputs();
  for (const auto& [k, input] : enumerate(inputs))
    gradients[static_cast<std::size_t>(input) + 1] = {made.node, k};
  return gradients;
}

TensorTypes Loop::infer(const Inference& in) const {
  const int given = std::max(in.count(), 2) - 2;  // trailing absent inputs are not counted
  require_body("Loop", body, given + 2);
  require(carried >= 0 && carried <= given, "Loop: carried ", carried, " of ", given, " values");
  const auto kept = static_cast<std::size_t>(carried);
  require(body->outputs().size() >= kept + 1, "Loop: its region has ", body->outputs().size(),
          " outputs, needs ", kept + 1);
  require(output_type(body, 0).dtype == DType::boolean,
          "Loop: output 0 of its region must be bool");
  TensorTypes types;
  for (int i = 2; i < in.count(); ++i) require_input("Loop", body, i, in.type(i));
  for (std::size_t o = 0; o < kept; ++o) {
    require(output_type(body, o + 1) == in.type(static_cast<int>(o) + 2), "Loop: carried value ", o,
            " is ", in.type(static_cast<int>(o) + 2), " before and ", output_type(body, o + 1),
            " after an iteration");
    types.push_back(output_type(body, o + 1));
  }
  for (std::size_t o = kept + 1; o < body->outputs().size(); ++o) {
    const Tensor* const trips = &in.known(0, "M");
    require(trips->size() == 1 && trips->at(0) >= 0 && trips->at(0) < 0x1p31,
            "Loop: with scan outputs, M must be a number from 0 on, below 2^31");
    TensorType stacked = output_type(body, o);
    stacked.shape.insert(stacked.shape.begin(), Dim(static_cast<std::int64_t>(trips->at(0))));
    types.push_back(std::move(stacked));
  }
  return types;
}

TensorTypes Scan::infer(const Inference& in) const {
  require_body("Scan", body, in.count());
  require(num_scan_inputs >= 1 && captured >= 0 && captured < in.count() &&
              num_scan_inputs <= in.count() - captured,
          "Scan: ", num_scan_inputs, " scan inputs and ", captured, " captured of ", in.count(),
          " inputs");
  const int states = state_count(in.count());
  require(std::ssize(body->outputs()) >= states, "Scan: its region has ", body->outputs().size(),
          " outputs, needs ", states);
  require(in.rank(states) >= 1, "Scan: a scan input needs at least one axis");
  const Dim length = in.shape(states).front();
  TensorTypes types;
  for (int i = 0; i < in.count(); ++i) {
    TensorType given = in.type(i);
    if (i >= states && i < states + num_scan_inputs) {
      require(!given.shape.empty() && given.shape.front() == length, "Scan: scan input ",
              i - states, " is ", given, ", the first has length ", length);
      given.shape.erase(given.shape.begin());
    }
    require_input("Scan", body, i, given);
  }
  for (const auto& [o, output] : enumerate(body->outputs())) {
    TensorType type = body->type(output.value);
    if (o < states)
      require(type == in.type(o), "Scan: state ", o, " is ", in.type(o), " before and ", type,
              " after a step");
    else
      type.shape.insert(type.shape.begin(), length);
    types.push_back(std::move(type));
  }
  return types;
}

namespace {

Offer offer_if(const Request& request) {
  return offer_region_call(request, [op = request.as<If>()](RegionCall& call) {
    const Region& branch = call.input(0).at(0) != 0 ? op.then_branch : op.else_branch;
    call.set_outputs(call.run(*branch, call.inputs_from(1), op.stream, 0));
  });
}

Offer offer_loop(const Request& request) {
  return offer_region_call(request, [op = request.as<Loop>()](RegionCall& call) {
    const auto kept = static_cast<std::size_t>(op.carried);
    const bool bounded = call.has_input(0);
    const auto trips = bounded ? static_cast<std::int64_t>(call.input(0).at(0)) : INT64_MAX;
    bool going = !call.has_input(1) || call.input(1).at(0) != 0;
    std::vector<Tensor> values = call.inputs_from(2);
    std::vector<std::vector<Tensor>> stacked(op.body->outputs().size() - kept - 1);
    for (std::int64_t i = 0; i < trips && going; ++i) {
      std::vector<Tensor> arguments{Tensor::scalar(DType::i64, static_cast<double>(i)),
                                    Tensor::scalar(DType::boolean, 1)};
      arguments.insert(arguments.end(), values.begin(), values.end());
      const std::vector<Tensor> results = call.run(*op.body, arguments, "", i);
      going = results[0].at(0) != 0;
      std::copy_n(results.begin() + 1, kept, values.begin());
      for (std::size_t s = 0; s < stacked.size(); ++s) stacked[s].push_back(results[1 + kept + s]);
    }
    for (std::size_t o = 0; o < kept; ++o) call.set_output(o, values[o]);
    for (std::size_t s = 0; s < stacked.size(); ++s) call.stack_output(kept + s, stacked[s], false);
  });
}

bool is_backwards(const Dims& directions, std::size_t index) {
  return index < directions.size() && directions[index] == 1;
}

Offer offer_scan(const Request& request) {
  const int inputs = static_cast<int>(request.inputs.size());
  return offer_region_call(request, [op = request.as<Scan>(), inputs](RegionCall& call) {
    const auto states = static_cast<std::size_t>(op.state_count(inputs));
    const auto scans = static_cast<std::size_t>(op.num_scan_inputs);
    std::vector<Tensor> values = call.inputs_from(0);
    const std::int64_t length = values[states].dims()[0];
    std::vector<std::vector<Tensor>> stacked(op.body->outputs().size() - states);
    for (std::int64_t t = 0; t < length; ++t) {
      std::vector<Tensor> arguments = values;
      for (std::size_t s = 0; s < scans; ++s)
        arguments[states + s] = RegionCall::slice(
            values[states + s], is_backwards(op.scan_input_directions, s) ? length - 1 - t : t);
      const std::vector<Tensor> results =
          call.run(*op.body, arguments, op.stream, op.stream_backwards ? length - 1 - t : t);
      std::copy_n(results.begin(), states, values.begin());
      for (std::size_t s = 0; s < stacked.size(); ++s) stacked[s].push_back(results[states + s]);
    }
    for (std::size_t o = 0; o < states; ++o) call.set_output(o, values[o]);
    for (std::size_t s = 0; s < stacked.size(); ++s)
      call.stack_output(states + s, stacked[s], is_backwards(op.scan_output_directions, s));
  });
}

constexpr Kernel if_list[] = {{"prepared", offer_prepared_if}, {"interpreted", offer_if}};
constexpr Kernel loop_list[] = {{"prepared", offer_prepared_loop}, {"interpreted", offer_loop}};
constexpr Kernel scan_list[] = {{"prepared", offer_prepared_scan}, {"interpreted", offer_scan}};

}  // namespace

std::span<const Kernel> If::kernels() { return if_list; }
std::span<const Kernel> Loop::kernels() { return loop_list; }
std::span<const Kernel> Scan::kernels() { return scan_list; }

}  // namespace narrowgauge

NG_OPS(control_flow, narrowgauge::If, narrowgauge::Loop, narrowgauge::Scan)
