// SPDX-License-Identifier: Apache-2.0
#include "api/training/clone.h"

#include "api/training/trainer_implementation.h"
#include "base/machine/floating_environment.h"
#include "precision/plans/fingerprint.h"

namespace narrowgauge {

void require_clone(const std::string& who, const Model::Implementation& trained,
                   const Model& given) {
  const Model::Implementation& other = ModelAccess::of(given);
  require(&other != &trained, who, ": a clone needs a model of its own, Model::clone() makes one");
  require(fingerprint(other.graph(Mode::train)) == fingerprint(trained.graph(Mode::train)), who,
          ": the network of model '", other.name, "' is not that of '", trained.name,
          "', with which a clone goes on");
}

std::vector<StateStore::NewValue> training_states(const Graph& graph, const StateStore& store) {
  std::vector<StateStore::NewValue> states;
  for (const State& state : graph.states())
    if (state.role == Role::moment || state.role == Role::control)
      states.push_back({state.name, store.at(state.name)});
  return states;
}

Model Model::clone() const {
  const Implementation& self = *implementation_;
  auto copy = std::make_shared<Implementation>();
  copy->name = self.name;
  copy->build = self.build;
  copy->seed = self.seed;
  copy->inputs = self.inputs;
  copy->outputs = self.outputs;
  const std::shared_lock reading(self.in_use);
  copy->store.copy(self.store);
  copy->precision = self.precision;
  copy->precision_of_file = self.precision_of_file;
  copy->plan_memory->most_bytes = self.plan_memory->most_bytes.load();
  if (self.open_shapes) copy->open_shapes = self.open_shapes->over(copy->store, copy->plan_memory);
  return Model(std::move(copy));
}

Trainer Trainer::clone(Model& model) const {
  const FloatingEnvironment environment(Subnormals::keep);
  const Implementation& self = *implementation_;
  require_clone("trainer", *self.model, model);
  const std::shared_lock reading(self.model->in_use);
  self.require_weights();
  TrainerOptions options = self.options;
  options.obeys_environment = false;  // what it said is settled
  auto copy = std::make_shared<Implementation>();
  Implementation& other = *copy;
  other.set_up(model, self.loss, self.optimizer, std::move(options));
  other.kernels.set_records(self.kernels.records());
  other.steps = self.steps;
  other.position = self.position;
  other.fit_batch = self.fit_batch;
  other.bad_losses = self.bad_losses;
  other.skips = self.skips;
  other.watch = self.watch;
  other.keeps_gradients = self.keeps_gradients;
  const std::lock_guard alone(other.model->in_use);
  other.take_over(&self.model->store);
  return Trainer(std::move(copy));
}

}  // namespace narrowgauge
