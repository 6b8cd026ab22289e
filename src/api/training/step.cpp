// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "api/model/built_network.h"
#include "api/training/clone.h"
#include "api/training/step_implementation.h"
#include "api/training/step_outputs.h"
#include "api/training/training_batch.h"
#include "api/training/training_setup.h"
#include "base/files/output_path.h"
#include "base/machine/floating_environment.h"
#include "base/text/wildcard.h"
#include "base/threads/parallel.h"

namespace narrowgauge {

namespace {

Graph objective_graph(const std::string& name, const Objective& objective) {
  Network network(name, Mode::train);
  const Value loss = built_objective(network, objective);
  network.graph().output("loss", loss);
  return std::move(network.graph());
}

}  // namespace

Step::Step(Model& model, Objective objective, Optimizer optimizer, StepOptions options)
    : implementation_(std::make_shared<Implementation>()) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  self.set_up(model, std::move(objective), std::move(optimizer), std::move(options));
  const std::lock_guard alone(self.model->in_use);
  Implementation::enter(implementation_.pointer(), self.settings, nullptr);
}

void Step::Implementation::set_up(const Model& given, Objective loss_of, Optimizer optimizer,
                                  StepOptions how) {
  require(how.threads >= 0 && how.threads <= 4096, "step: expected threads from 0 to 4096, got ",
          how.threads);
  require(!how.name.empty() && how.name != trainer_owner, "step: '", how.name,
          "' is no name for a step");
  check(optimizer);
  model = ModelAccess::shared(given);
  chooses_scale = optimizer.loss_scale.kind == LossScale::Kind::automatic;
  objective = std::move(loss_of);
  options = std::move(how);
  trainers = model->trainers;
  network = objective_graph(model->name, objective);
  settle_loss_scale(optimizer, network);
  settings.optimizer = std::move(optimizer);
  network = widened(std::move(network));
}

Step::Step(std::shared_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Step::~Step() = default;
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(Step&&) noexcept = default;

std::vector<StateStore::NewValue> Step::Implementation::training_values() const {
  std::vector<StateStore::NewValue> values = own_states();
  for (const Program* const program : {whole.get(), gradients.get(), update.get()})
    for (StateStore::NewValue& each : training_states(program->graph(), model->store))
      values.push_back(std::move(each));
  return values;
}

Step Step::clone(Model& model) const {
  const FloatingEnvironment environment(Subnormals::keep);
  const Implementation& self = *implementation_;
  require_clone(concat("step '", self.options.name, "'"), *self.model, model);
  const std::shared_lock reading(self.model->in_use);
  self.require_weights();
  auto copy = std::make_shared<Implementation>();
  Implementation& other = *copy;
  other.set_up(model, self.objective, self.settings.optimizer, self.options);
  other.kernels.set_records(self.kernels.records());
  other.chooses_scale = self.chooses_scale;
  other.steps = self.steps;
  other.loss = self.loss;
  other.pending = self.pending;
  other.unscaled = self.unscaled;
  const std::lock_guard alone(other.model->in_use);
  Implementation::enter(copy, self.settings, &self);
  return Step(std::move(copy));
}

void Step::Implementation::require_own_name() const {
  const auto begins_so = [](const std::string& name, const std::string& other) {
    return concat(name, '/').starts_with(concat(other, '/'));
  };
  for (const auto& [name, step] : model->steps)
    require(step.expired() || !(begins_so(name, options.name) || begins_so(options.name, name)),
            "step '", options.name, "': step '", name, "' trains model '", model->name,
            "': each needs a name of its own (StepOptions::name) for its counters and moments");
}

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

void Step::Implementation::run(Program& chosen, std::span<const Tensor> inputs,
                               FunctionRef<void(std::span<const Tensor> results)> use) {
  const ThreadScope scope(threads());
  const Program::Lease executor = chosen.executor_for(inputs);
  use(executor->run_inside(inputs, steps));
}

StepResult Step::step(std::span<const Tensor> batch) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  StepResult result;
  const TrainingBatch taken = self.taken(batch);
  self.run(*self.whole, taken.inputs(), [&](std::span<const Tensor> results) {
    result = step_result_of(self.whole->graph(), results);
    result.loss = output_of(self.whole->graph(), results, "loss");
  });
  ++self.steps;
  return result;
}

std::vector<NamedTensor> Step::forward(std::span<const Tensor> batch) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  const ThreadScope threads(self.threads());
  const TrainingBatch taken = self.taken(batch);
  const std::span<const Tensor> inputs = taken.inputs();
  std::vector<Tensor> results = self.forward->executor_for(inputs)->run(inputs, self.steps);
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
  require(std::isfinite(weight), "step '", self.options.name, "': expected a finite weight, got ",
          weight);
  const TrainingBatch taken = self.taken(batch);
  std::vector<Tensor> inputs(taken.inputs().begin(), taken.inputs().end());
  inputs.push_back(Tensor::scalar(self.dtype(), weight));
  double loss = 0;
  self.run(*self.gradients, inputs, [&](std::span<const Tensor> results) {
    loss = output_of(self.gradients->graph(), results, "loss");
  });
  ++self.steps;
  self.loss += weight * loss;
  self.pending = true;
  return loss;
}

std::vector<NamedTensor> Step::gradients() {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  std::vector<NamedTensor> sums = self.sums();
  self.unscale();
  self.unscaled = self.pending;
  return sums;
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
  StepResult result;
  self.run(*self.update, {}, [&](std::span<const Tensor> results) {
    result = step_result_of(self.update->graph(), results);
  });
  result.loss = self.loss;
  self.loss = 0;
  self.pending = self.unscaled = false;
  return result;
}

void Step::leave_scale_to_scaler() {
  Implementation& self = *implementation_;
  if (!self.scales()) return;
  require(self.chooses_scale, "grad scaler: step '", self.options.name,
          "' has a loss scale of its own; with a GradScaler its Optimizer::loss_scale is off");
  require(!self.pending, "grad scaler: step '", self.options.name,
          "' has gradients that it scaled itself, update() comes first");
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  self.leave_scale();
}

void Step::Implementation::leave_scale() {
  StepSettings wanted = settings;
  wanted.optimizer.loss_scale.kind = LossScale::Kind::off;
  const StateStore::NewValue none{state_name("loss_scale"), Tensor::scalar(dtype(), 1)};
  compile(std::move(wanted), std::span(&none, 1));
}

StepResult Step::update_whatever_the_loss(bool checked) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  bool& finite = self.flag("losses_finite");
  bool& unchecked = self.flag("unchecked");
  const bool was_finite = std::exchange(finite, true);
  unchecked = !checked;
  try {
    const StepResult result = update();
    unchecked = false;
    return result;
  } catch (...) {
    finite = was_finite;
    unchecked = false;
    throw;
  }
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
  bool& finite = self.flag("losses_finite");
  for (NamedTensor& gradient : self.sums())
    std::memset(gradient.tensor.data(), 0, static_cast<std::size_t>(gradient.tensor.bytes()));
  finite = true;
  self.loss = 0;
  self.pending = self.unscaled = false;
}

void Step::set_learning_rate(double rate) {
  Implementation& self = *implementation_;
  const double base = self.settings.optimizer.learning_rate;
  require(rate >= 0 && std::isfinite(rate) && base > 0, "step '", self.options.name,
          "': expected a learning rate of 0 or more beside a base above 0, got ", rate, " and ",
          base);
  const std::lock_guard alone(self.model->in_use);
  self.model->store.set(self.state_name("rate_factor"), Tensor::scalar(self.dtype(), rate / base));
}

void Step::set_loss_scale(double scale) {
  Implementation& self = *implementation_;
  LossScale changed = self.settings.optimizer.loss_scale;
  require(changed.kind != LossScale::Kind::off, "step '", self.options.name,
          "': has no loss scale to set");
  const std::lock_guard alone(self.model->in_use);
  Optimizer checked = self.settings.optimizer;
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
  StepSettings wanted = self.settings;
  wanted.frozen.push_back(pattern);
  self.compile(std::move(wanted));
}

void Step::thaw(const std::string& pattern) {
  Implementation& self = *implementation_;
  StepSettings wanted = self.settings;
  const auto found = std::ranges::find(wanted.frozen, pattern);
  require(found != wanted.frozen.end(), "step '", self.options.name, "': '", pattern,
          "' was not frozen");
  wanted.frozen.erase(found);
  require(!self.pending, "step '", self.options.name, "': thaw() between backward() and update()");
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  self.compile(std::move(wanted));
}

TrainingBatch Step::Implementation::taken(std::span<const Tensor> batch) const {
  return TrainingBatch(concat("step '", options.name, '\''), network, batch);
}

double Step::loss_scale() const {
  const std::shared_lock reading(implementation_->model->in_use);
  return implementation_->model->store.at(implementation_->state_name("loss_scale")).at(0);
}

std::int64_t Step::applied_steps() const {
  const std::shared_lock reading(implementation_->model->in_use);
  implementation_->require_latest();
  return implementation_->applied_steps(implementation_->model->store);
}

}  // namespace narrowgauge
