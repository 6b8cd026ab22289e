// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <shared_mutex>

#include "api/averages.h"
#include "api/kernel_cache.h"
#include "api/model_implementation.h"
#include "api/step_outputs.h"
#include "api/training_setup.h"
#include "base/floating_environment.h"
#include "base/parallel.h"
#include "base/wildcard.h"
#include "passes/differentiate.h"
#include "passes/in_f64.h"
#include "precision/follow.h"
#include "precision/parameters.h"
#include "precision/policy.h"
#include "precision/subnormals.h"
#include "train/training_graph.h"

namespace narrowgauge {

// The graphs of a step: in one, or one after another.
struct StepPrograms {
  std::unique_ptr<Program> whole, forward, gradients, unscaling, update;
};

struct Step::Implementation : StepPrograms {
  Model::Implementation* model = nullptr;
  Objective objective;
  Optimizer optimizer;
  StepOptions options;
  int trainers = 0;                 // of the model, when this was made
  std::vector<std::string> frozen;  // patterns
  std::uint64_t steps = 0;          // taken so far, micro-batches included
  double loss = 0;                  // sum over the backward() calls since the last update
  bool pending = false;             // whether there are any
  bool unscaled = false;            // whether the gradients were given out

  KernelChoices kernels{kernel_cache()};
  Graph network;       // the objective in training, f32 or f64
  PrecisionPlan plan;  // of a whole step; its parts follow it
  Averages averages;

  void compile();
  void require_latest() const;
  void require_weights() const;  // throws UsageError while their averages stand in their place
  void require_format() const;   // throws UsageError where the model's weights have another
  std::unique_ptr<Program> program(const Graph& f32_graph);
  std::vector<Tensor> run(Program& program, std::span<const Tensor> inputs);
  Optimizer optimizer_now() const;
  std::vector<std::string> trained() const;  // parameters that are not frozen
  bool is_in_f64() const { return optimizer.precision.in_f64; }
  DType dtype() const { return is_in_f64() ? DType::f64 : DType::f32; }  // of the scalars
  Graph widened(Graph f32_graph) const {
    return is_in_f64() ? in_f64(f32_graph, InputsInF64::kept) : std::move(f32_graph);
  }
  bool counts(Value parameter) const {  // whether the loss depends on it
    return why_blocked(network, network.find_output("loss"), parameter).reaches;
  }
  std::vector<NamedTensor> sums() const;  // of gradients, as they are
  void unscale();
  void set_flag(std::string_view name, bool value);
  std::string state_name(std::string_view kind) const { return concat(options.name, '/', kind); }
};

namespace {

// Of the groups that match a parameter the last counts.
bool is_frozen_by_group(const Optimizer& optimizer, const std::string& parameter) {
  const auto group = std::find_if(
      optimizer.groups.rbegin(), optimizer.groups.rend(),
      [&](const ParameterGroup& each) { return matches_wildcard(each.pattern, parameter); });
  return group != optimizer.groups.rend() && group->frozen;
}

Graph objective_graph(const std::string& name, const Objective& objective) {
  Network network(name, Mode::train);
  const Value loss = objective(network);
  network.graph().output("loss", loss);
  return std::move(network.graph());
}

// Outputs beside the loss, for forward(), which changes no state.
Graph forward_graph(const std::string& name, const Objective& objective) {
  Network network(name, Mode::train);
  const Value loss = objective(network);
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

std::vector<std::string> Step::Implementation::trained() const {
  std::vector<std::string> names;
  for (const State& state : network.states())
    if (state.role == Role::parameter && matches_any(options.parameters, state.name) &&
        !matches_any(frozen, state.name) && !is_frozen_by_group(optimizer, state.name) &&
        counts(state.current))
      names.push_back(state.name);
  return names;
}

// The optimizer with what the step does not update as frozen.
Optimizer Step::Implementation::optimizer_now() const {
  const std::vector<std::string> names = trained();
  Optimizer now = optimizer;
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
  run(*unscaling, std::span(&factor, 1));
}

void Step::Implementation::set_flag(std::string_view name, bool value) {
  model->store.set(state_name(name), Tensor::scalar(DType::boolean, value ? 1 : 0));
}

std::unique_ptr<Program> Step::Implementation::program(const Graph& f32_graph) {
  CompileOptions compile_options;
  compile_options.deterministic = options.deterministic;
  compile_options.kernels = &kernels;
  compile_options.subnormals = subnormals_of(plan.f32_math);
  Graph graph = is_in_f64() ? f32_graph : apply(f32_graph, follow(plan, f32_graph));
  return std::make_unique<Program>(std::move(graph), compile_options, model->store, options.seed);
}

// Where this throws, step and model are as they were.
void Step::Implementation::compile() {
  const FloatingEnvironment environment(Subnormals::keep);
  const Optimizer now = optimizer_now();
  const std::string& owner = options.name;
  const Graph training = make_training_graph(network, now, owner);
  PrecisionPlan former = std::exchange(plan, {});
  try {
    if (!is_in_f64()) {
      plan = make_precision_plan(training, now.precision);
      require_effect(plan);
    }
    StateStore store = model->store;
    Model::Implementation::Precision precision = model->precision;
    const bool reformatted = store.keep_as(training, kept_formats(plan), model->seed);
    StepPrograms made;
    made.whole = program(training);
    made.forward = program(widened(forward_graph(model->name, objective)));
    made.gradients = program(make_gradient_graph(network, now, owner));
    made.unscaling = program(make_unscaling_graph(network, now, owner));
    made.update = program(make_update_graph(network, now, owner));
    store.add(made.whole->graph(), model->seed);
    store.add(made.gradients->graph(), model->seed);
    averages = Averages(training, owner);
    static_cast<StepPrograms&>(*this) = std::move(made);
    model->store = std::move(store);
    if (reformatted) model->adopt(std::move(precision));  // predictions anew
  } catch (...) {
    plan = std::move(former);
    throw;
  }
}

Step::Step(Model& model, Objective objective, Optimizer optimizer, StepOptions options)
    : implementation_(std::make_unique<Implementation>()) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  require(options.threads >= 0 && options.threads <= 4096,
          "step: expected threads from 0 to 4096, got ", options.threads);
  require(!options.name.empty() && options.name != trainer_owner, "step: '", options.name,
          "' is no name for a step");
  check(optimizer);
  self.model = &ModelAccess::of(model);
  self.objective = std::move(objective);
  self.optimizer = std::move(optimizer);
  self.options = std::move(options);
  self.trainers = self.model->trainers;
  self.network = objective_graph(self.model->name, self.objective);
  settle_loss_scale(self.optimizer, self.network);
  self.network = self.widened(std::move(self.network));
  const std::lock_guard alone(self.model->in_use);
  if (self.is_in_f64() && !self.model->is_in_f64())
    self.model->set_precision(self.optimizer.precision);
  self.require_format();
  self.compile();
}

Step::~Step() = default;
Step::Step(Step&&) noexcept = default;

void Step::Implementation::require_latest() const {
  require(trainers == model->trainers, "step '", options.name, "': a Trainer has taken the model '",
          model->name, "' over");
  require_format();
}

void Step::Implementation::require_weights() const {
  require_latest();
  require(!averages.are_swapped(), "step '", options.name,
          "': averages stand in the place of the weights, swap_averages() puts these back");
}

void Step::Implementation::require_format() const {
  require(is_in_f64() == model->is_in_f64(), "step '", options.name, "': computes in ", dtype(),
          ", the weights of '", model->name, "' are ", is_in_f64() ? DType::f32 : DType::f64);
}

std::vector<Tensor> Step::Implementation::run(Program& chosen, std::span<const Tensor> inputs) {
  const ThreadScope threads(options.threads > 0 ? options.threads : thread_count());
  const Program::Lease executor = chosen.executor_for(inputs);
  return executor->run(inputs, steps);
}

StepResult Step::step(std::span<const Tensor> batch) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  const std::vector<Tensor> results = self.run(*self.whole, batch);
  ++self.steps;
  StepResult result = step_result_of(self.whole->graph(), results);
  result.loss = output_of(self.whole->graph(), results, "loss");
  return result;
}

std::vector<NamedTensor> Step::forward(std::span<const Tensor> batch) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  std::vector<Tensor> results = self.run(*self.forward, batch);
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < results.size(); ++i)
    named.push_back({self.forward->graph().outputs()[i].name, std::move(results[i])});
  return named;
}

double Step::backward(std::span<const Tensor> batch, double weight) {
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  require(!self.unscaled, "step '", self.options.name,
          "': its gradients are unscaled already, update() comes first");
  std::vector<Tensor> inputs(batch.begin(), batch.end());
  inputs.push_back(Tensor::scalar(self.dtype(), weight));
  const std::vector<Tensor> results = self.run(*self.gradients, inputs);
  ++self.steps;
  const double loss = output_of(self.gradients->graph(), results, "loss");
  self.loss += weight * loss;
  self.pending = true;
  return loss;
}

std::vector<NamedTensor> Step::gradients() {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  self.unscale();
  self.unscaled = self.pending;
  return self.sums();
}

bool Step::scale_gradients(double factor) {
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  bool finite = true;
  const auto scale = [&]<class T>(std::span<T> values) {
    for (T& value : values) {
      value *= static_cast<T>(factor);
      finite = finite && std::isfinite(value);
    }
  };
  for (NamedTensor& gradient : self.sums())
    if (gradient.tensor.dtype() == DType::f64)
      scale(gradient.tensor.values<double>());
    else
      scale(gradient.tensor.values<float>());
  return finite;
}

StepResult Step::update() {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  require(self.pending, "step '", self.options.name, "': update() without a backward() before it");
  StepResult result = step_result_of(self.update->graph(), self.run(*self.update, {}));
  result.loss = self.loss;
  self.loss = 0;
  self.pending = self.unscaled = false;
  return result;
}

StepResult Step::update_whatever_the_loss(bool checked) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  self.set_flag("losses_finite", true);
  self.set_flag("unchecked", !checked);
  const StepResult result = update();
  self.set_flag("unchecked", false);
  return result;
}

void Step::swap_averages() {
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  require(!self.averages.names().empty() &&
              self.model->store.at(self.state_name("applied_steps")).at(0) > 0,
          "step '", self.options.name,
          "': has no averages; they need an ema_decay and a step that was applied");
  require(!self.pending, "step '", self.options.name,
          "': swap_averages() between backward() and update()");
  self.averages.swap(self.model->store);
}

void Step::clear_gradients() {
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  for (NamedTensor& gradient : self.sums())
    std::memset(gradient.tensor.data(), 0, static_cast<std::size_t>(gradient.tensor.bytes()));
  self.set_flag("losses_finite", true);
  self.loss = 0;
  self.pending = self.unscaled = false;
}

void Step::set_learning_rate(double rate) {
  Implementation& self = *implementation_;
  const double base = self.optimizer.learning_rate;
  require(rate >= 0 && std::isfinite(rate) && base > 0, "step '", self.options.name,
          "': expected a learning rate of 0 or more beside a base above 0, got ", rate, " and ",
          base);
  const std::lock_guard alone(self.model->in_use);
  self.model->store.set(self.state_name("rate_factor"), Tensor::scalar(self.dtype(), rate / base));
}

void Step::set_loss_scale(double scale) {
  Implementation& self = *implementation_;
  LossScale changed = self.optimizer.loss_scale;
  require(changed.kind != LossScale::Kind::off, "step '", self.options.name,
          "': has no loss scale to set");
  const std::lock_guard alone(self.model->in_use);
  Optimizer checked = self.optimizer;
  checked.loss_scale.initial = scale;
  checked.loss_scale.minimum = std::min(scale, changed.minimum);
  check(checked);
  self.model->store.set(self.state_name("loss_scale"), Tensor::scalar(self.dtype(), scale));
}

void Step::freeze(const std::string& pattern) {
  Implementation& self = *implementation_;
  const std::vector<std::string> names = self.trained();
  require(std::ranges::any_of(
              names, [&](const std::string& name) { return matches_wildcard(pattern, name); }),
          "step '", self.options.name, "': trains no parameter called '", pattern, '\'');
  require(!self.pending, "step '", self.options.name,
          "': freeze() between backward() and update()");
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  self.frozen.push_back(pattern);
  try {
    self.compile();
  } catch (...) {
    self.frozen.pop_back();
    throw;
  }
}

void Step::thaw(const std::string& pattern) {
  Implementation& self = *implementation_;
  const auto found = std::ranges::find(self.frozen, pattern);
  require(found != self.frozen.end(), "step '", self.options.name, "': '", pattern,
          "' was not frozen");
  require(!self.pending, "step '", self.options.name, "': thaw() between backward() and update()");
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  std::vector<std::string> former = self.frozen;
  self.frozen.erase(found);
  try {
    self.compile();
  } catch (...) {
    self.frozen = std::move(former);
    throw;
  }
}

double Step::loss_scale() const {
  const std::shared_lock reading(implementation_->model->in_use);
  return implementation_->model->store.at(implementation_->state_name("loss_scale")).at(0);
}

std::int64_t Step::applied_steps() const {
  const std::shared_lock reading(implementation_->model->in_use);
  const Tensor& steps =
      implementation_->model->store.at(implementation_->state_name("applied_steps"));
  return static_cast<std::int64_t>(steps.at(0));
}

}  // namespace narrowgauge
