// SPDX-License-Identifier: Apache-2.0
#include "train/training_graph.h"

#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/logic.h"
#include "ops/shape/reshape.h"
#include "train/training_parts.h"

namespace narrowgauge {

namespace {

bool is_loss(const TensorType& type) {
  return type.shape.empty() && (type.dtype == DType::f32 || type.dtype == DType::f64);
}

Value loss_of(const Graph& graph) {
  const Value loss = graph.find_output("loss");
  require(!loss.is_absent() && is_loss(graph.type(loss)), "graph '", graph.name(),
          "': training needs a scalar output 'loss' of f32 or f64",
          loss.is_absent() ? "" : concat(", got ", graph.type(loss)));
  return loss;
}

DType dtype_of_loss(const Graph& forward) { return forward.type(loss_of(forward)).dtype; }

Graph verified(Graph graph) {
  verify(graph, Stage::trained);
  return graph;
}

// The parameters of a network without what it computes.
Graph parameters_alone(const Graph& forward) {
  Graph graph(forward.name());
  for (const State& state : forward.states()) {
    if (state.role != Role::parameter) continue;
    State alone = state;
    alone.next = absent;
    graph.state(std::move(alone));
  }
  return graph;
}

constexpr std::string_view sum_scale = "gradient_scale", sum_finite = "losses_finite",
                           sum_unchecked = "unchecked";

// What the sums of gradients are times the true ones, whether all losses were finite, and whether
// the parameters are updated whatever the gradients are.
struct SumStates {
  Value scale, finite, unchecked;
  explicit SumStates(TrainingParts& parts)
      : scale(parts.control(sum_scale, parts.dtype(), 1)),
        finite(parts.control(sum_finite, DType::boolean, 1)),
        unchecked(parts.control(sum_unchecked, DType::boolean, 0)) {}
};

}  // namespace

// A model has one Trainer at a time, whose moments need no name of their own.
std::string moment_name(std::string_view owner, std::string_view parameter, std::string_view kind) {
  const std::string name = concat(parameter, '.', kind);
  return owner == trainer_owner ? name : concat(owner, '/', name);
}

Graph make_training_graph(const Graph& forward, const Optimizer& optimizer, std::string_view owner,
                          const StepsTaken& taken) {
  TrainingParts parts(forward, dtype_of_loss(forward), optimizer, owner);
  const Value loss = loss_of(forward);
  parts.find_parameters();
  parts.add_scale();
  parts.add_own_steps(taken);
  parts.find_gradients(loss, parts.scale());
  parts.check_gradients(parts.scale());
  const Value finite = parts.is_finite(loss);
  parts.add_outcome(finite);
  parts.protect_statistics(finite);
  parts.add_rates(parts.scale());
  parts.update_parameters();
  parts.average_parameters();
  parts.add_outputs();
  return verified(std::move(parts.graph()));
}

bool is_of_parts(std::string_view owner, std::string_view state) {
  for (const std::string_view control : {sum_scale, sum_finite, sum_unchecked})
    if (state == concat(owner, '/', control)) return true;
  return state.ends_with(concat('.', gradient_sum_name)) &&
         (owner == trainer_owner || state.starts_with(concat(owner, '/')));
}

Graph make_gradient_graph(const Graph& forward, const Optimizer& optimizer,
                          std::string_view owner) {
  TrainingParts parts(forward, dtype_of_loss(forward), optimizer, owner);
  Graph& graph = parts.graph();
  const Value loss = loss_of(forward);
  parts.find_parameters();
  parts.add_scale();
  const SumStates sums(parts);
  const Value weight = graph.input(parts.control_name("weight"), {parts.dtype(), {}});
  parts.find_gradients(loss, parts.add(Mul{}, {parts.scale(), weight}, parts.control_name("seed")));
  const Value finite = parts.is_finite(loss);
  parts.protect_statistics(finite);
  for (const TrainedParameter& parameter : parts.parameters()) {
    const std::string name = parts.moment_name(parameter, gradient_sum_name);
    const Value before = parts.moment(parameter, gradient_sum_name);
    graph.set_next(name, parts.add(Add{}, {before, parameter.gradient}, name + ".add"));
  }
  parts.set_next_control(sum_scale, parts.scale());
  parts.set_next_control(sum_finite,
                         parts.add(And{}, {sums.finite, finite}, parts.control_name("all_finite")));
  return verified(std::move(graph));
}

Graph make_unscaling_graph(const Graph& forward, const Optimizer& optimizer,
                           std::string_view owner) {
  TrainingParts parts(parameters_alone(forward), dtype_of_loss(forward), optimizer, owner);
  Graph& graph = parts.graph();
  parts.find_parameters();
  const SumStates sums(parts);
  const Value factor = graph.input("factor", {parts.dtype(), {}});
  for (const TrainedParameter& parameter : parts.parameters()) {
    const std::string name = parts.moment_name(parameter, gradient_sum_name);
    const Value before = parts.moment(parameter, gradient_sum_name);
    graph.set_next(name, parts.add(Mul{}, {before, factor}, name + ".scale"));
  }
  const Value scale = parts.add(Mul{}, {sums.scale, factor}, parts.control_name("unscaled"));
  parts.set_next_control(sum_scale, scale);
  graph.output("scale", scale);
  return verified(std::move(graph));
}

Graph make_update_graph(const Graph& forward, const Optimizer& optimizer, std::string_view owner,
                        const StepsTaken& taken) {
  TrainingParts parts(parameters_alone(forward), dtype_of_loss(forward), optimizer, owner);
  Graph& graph = parts.graph();
  parts.find_parameters();
  parts.add_scale();
  parts.add_own_steps(taken);
  const SumStates sums(parts);
  for (TrainedParameter& parameter : parts.parameters())
    parameter.gradient = parts.moment(parameter, gradient_sum_name);
  parts.check_gradients(sums.scale);
  parts.pass_anyway(sums.unchecked);
  parts.add_outcome(sums.finite);
  parts.add_rates(sums.scale);
  parts.update_parameters();
  parts.average_parameters();
  for (const TrainedParameter& parameter : parts.parameters()) {
    const std::string name = parts.moment_name(parameter, gradient_sum_name);
    const Value zero = graph.constant(Tensor::scalar(parameter.type.dtype, 0));
    graph.set_next(name, parts.add(ExpandTo{parameter.type.shape}, {zero}, name + ".clear"));
  }
  parts.set_next_control(sum_finite, graph.constant(Tensor::scalar(DType::boolean, 1)));
  parts.add_outputs();
  return verified(std::move(graph));
}

}  // namespace narrowgauge
