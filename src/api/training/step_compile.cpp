// SPDX-License-Identifier: Apache-2.0
// The graphs of a Step, and which parameters they update.
#include <algorithm>
#include <utility>

#include "api/model/built_network.h"
#include "api/training/step_implementation.h"
#include "base/files/output_path.h"
#include "base/machine/floating_environment.h"
#include "base/text/wildcard.h"
#include "base/threads/parallel.h"
#include "precision/colouring/follow.h"
#include "precision/colouring/policy.h"
#include "precision/plans/parameters.h"
#include "precision/subnormals.h"

namespace narrowgauge {

namespace {

// Whether the last of the groups that match a parameter freezes it.
bool is_frozen_by_group(const Optimizer& optimizer, const std::string& parameter) {
  const auto group = std::find_if(
      optimizer.groups.rbegin(), optimizer.groups.rend(),
      [&](const ParameterGroup& each) { return matches_wildcard(each.pattern, parameter); });
  return group != optimizer.groups.rend() && group->frozen;
}

// Outputs beside the loss, for forward(), which changes no state.
Graph forward_graph(const std::string& name, const Objective& objective) {
  Network network(name, Mode::train);
  const Value loss = built_objective(network, objective);
  Graph& graph = network.graph();
  graph.output("loss", loss);
  for (const GraphOutput& output : network.outputs())
    if (output.name != "loss") graph.output(output.name, output.value);
  const std::vector<State> states = graph.states();
  for (const State& state : states) graph.set_next(state.name, state.current);
  return std::move(graph);
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return matches_wildcard(pattern, name); });
}

}  // namespace

std::vector<std::string> Step::Implementation::trained(const StepSettings& given) const {
  std::vector<std::string> names;
  for (const State& state : network.states())
    if (state.role == Role::parameter && matches_any(options.parameters, state.name) &&
        !matches_any(given.frozen, state.name) &&
        !is_frozen_by_group(given.optimizer, state.name) && counts(state.current))
      names.push_back(state.name);
  return names;
}

// The optimizer with what the step does not update as frozen.
Optimizer Step::Implementation::optimizer_for(const StepSettings& given) const {
  const std::vector<std::string> names = trained(given);
  Optimizer now = given.optimizer;
  for (const State& state : network.states())
    if (state.role == Role::parameter && std::ranges::find(names, state.name) == names.end())
      now.groups.push_back({.pattern = state.name, .frozen = true});
  return now;
}

std::vector<NamedTensor> Step::Implementation::sums() const {
  std::vector<NamedTensor> named;
  for (const std::string& name : trained())
    named.push_back({name, model->store.at(state_name(name + ".gradient"))});
  return named;
}

void Step::Implementation::unscale() {
  const double scale = model->store.at(state_name("gradient_scale")).at(0);
  if (scale == 1) return;
  const Tensor factor = Tensor::scalar(dtype(), 1 / scale);
  run(*unscaling, std::span(&factor, 1), [](std::span<const Tensor>) {});
}

bool& Step::Implementation::flag(std::string_view name) {
  return model->store.at(state_name(name)).values<bool>()[0];
}

std::unique_ptr<Program> Step::Implementation::program(const Graph& f32_graph,
                                                       const PrecisionPlan& plan) {
  CompileOptions compile_options;
  compile_options.deterministic = options.deterministic;
  compile_options.kernels = &kernels;
  compile_options.subnormals = subnormals_of(plan.f32_math);
  Graph graph = is_in_f64() ? f32_graph : apply(f32_graph, follow(plan, f32_graph));
  auto made =
      std::make_unique<Program>(std::move(graph), compile_options, model->store, options.seed);
  made->set_plan_memory(model->plan_memory);
  return made;
}

std::int64_t Step::Implementation::applied_steps(const StateStore& store) const {
  const std::string name = state_name("applied_steps");
  return store.has(name) ? static_cast<std::int64_t>(store.at(name).at(0)) : 0;
}

bool Step::Implementation::has_moments(const std::string& parameter,
                                       const StateStore& store) const {
  const State* const state = network.find_state(parameter);
  if (!store.has(moment_name(options.name, parameter, gradient_sum_name))) return false;
  return std::ranges::all_of(settings.optimizer.rule.moments_of(state->type.shape),
                             [&](std::string_view moment) {
                               return store.has(moment_name(options.name, parameter, moment));
                             });
}

// A parameter has had its moments since it was updated first. One that is updated without any,
// where other steps were applied, comes later than these.
StepsTaken Step::Implementation::steps_taken(const StepSettings& given,
                                             const StateStore& store) const {
  const std::vector<std::string> names = trained(given);
  const std::int64_t applied = applied_steps(store);
  StepsTaken taken;
  for (const std::string& name : names)
    if (applied > 0 && !has_moments(name, store)) taken[name] = 0;
  for (const auto& [name, entry] : store.entries()) {
    if (entry.role != Role::parameter || taken.contains(name)) continue;
    const bool trains = std::ranges::find(names, name) != names.end();
    if (const std::string counter = counter_name(name); store.has(counter))
      taken[name] = static_cast<std::int64_t>(store.at(counter).at(0));
    else if (!trains && store.has(moment_name(options.name, name, gradient_sum_name)))
      taken[name] = applied;
  }
  return taken;
}

std::vector<std::string> Step::Implementation::late_averages(const Averages& all,
                                                             const StateStore& store) const {
  std::vector<std::string> late;
  for (const auto& [parameter, moment] : all.names())
    if (applied_steps(store) > 0 && !store.has(moment)) late.push_back(parameter);
  return late;
}

StepForm Step::Implementation::form_for(StepSettings wanted, StateStore& store) {
  const FloatingEnvironment environment(Subnormals::keep);
  StepForm form;
  form.settings = std::move(wanted);
  if (is_in_f64() && !model->is_in_f64()) {
    store.convert_weights(DType::f64);
    form.predictions = settings.optimizer.precision;
  }
  const std::string& owner = options.name;
  const Optimizer now = optimizer_for(form.settings);
  const StepsTaken taken = steps_taken(form.settings, store);
  const Graph training = make_training_graph(network, now, owner, taken);
  PrecisionPlan plan;
  if (!is_in_f64()) plan = make_precision_plan(training, now.precision);
  if (!is_in_f64()) require_effect(plan);
  form.averages = Averages(training, owner);
  const std::vector<std::string> late = late_averages(form.averages, store);
  if (store.keep_as(training, kept_formats(plan), model->seed) && !form.predictions)
    form.predictions = model->precision;
  StepPrograms& made = form.programs;
  made.whole = program(training, plan);
  made.forward = program(widened(forward_graph(model->name, objective)), plan);
  made.gradients = program(make_gradient_graph(network, now, owner), plan);
  made.unscaling = program(make_unscaling_graph(network, now, owner), plan);
  made.update = program(make_update_graph(network, now, owner, taken), plan);
  store.add(made.whole->graph(), model->seed);
  store.add(made.gradients->graph(), model->seed);
  for (const auto& [name, count] : taken)
    store.set(counter_name(name), Tensor::scalar(DType::i64, static_cast<double>(count)));
  for (const std::string& name : late) {
    const std::string& average = form.averages.names().at(name);
    store.set(average, store.declared(name).cast(store.at(average).dtype()));
  }
  return form;
}

void Step::Implementation::take(StepForm&& form) noexcept {
  settings = std::move(form.settings);
  averages = std::move(form.averages);
  static_cast<StepPrograms&>(*this) = std::move(form.programs);
  if (form.predictions) model->adopt(*std::move(form.predictions));
}

void Step::Implementation::compile(StepSettings wanted,
                                   std::span<const StateStore::NewValue> values) {
  StateStore store = model->store;
  StepForm form = form_for(std::move(wanted), store);
  store.set(values);
  // Nothing fails from here on.
  model->store = std::move(store);
  take(std::move(form));
}

void Step::Implementation::enter(const std::shared_ptr<Implementation>& step, StepSettings wanted,
                                 const Implementation* former) {
  Model::Implementation& model = *step->model;
  step->require_own_name();
  if (!step->is_in_f64()) step->require_format();
  auto steps = model.steps;
  steps[step->options.name] = step;
  std::string run = model.run_of_steps.empty() ? random_digits() : model.run_of_steps;
  StateStore store = model.store;
  std::vector<StateStore::NewValue> values;
  if (former) values = former->training_values();
  for (const StateStore::NewValue& each : values)
    store.add_copy(each.state, former->model->store.entries().find(each.state)->second.role,
                   each.value);
  StepForm form = step->form_for(std::move(wanted), store);
  store.set(values);
  // Nothing fails from here on.
  model.store = std::move(store);
  step->take(std::move(form));
  model.steps.swap(steps);
  model.run_of_steps.swap(run);
}

}  // namespace narrowgauge
