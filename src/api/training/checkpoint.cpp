// SPDX-License-Identifier: Apache-2.0
// What a checkpoint keeps of a training, and how training resumes from it.
#include <algorithm>

#include "api/runs/checkpoint_files.h"
#include "api/runs/checkpoint_folder.h"
#include "api/runs/mismatches.h"
#include "api/training/trainer_implementation.h"
#include "base/name_index.h"
#include "train/training_graph.h"

namespace narrowgauge {

namespace {

// Steps that train the model beside the Trainer keep their states themselves.
bool is_of_step(const Model::Implementation& model, const std::string& state) {
  return std::ranges::any_of(
      model.steps, [&](const auto& step) { return state.starts_with(concat(step.first, '/')); });
}

bool is_trainers(Role role) { return role == Role::moment || role == Role::control; }

// A checkpoint's model is what is to be used: the averages, where there are any. The weights
// themselves are then among the states.
TensorFile weights_to_use(const Model::Implementation& model, const Averages& averages) {
  TensorFile file = weights_of(model);
  for (NamedTensor& each : file.tensors)
    if (const auto found = averages.names().find(each.name); found != averages.names().end())
      each.tensor = model.store.at(found->second);
  return file;
}

// What the states of a checkpoint's training were, with its weights and their averages.
std::vector<StateStore::NewValue> states_in(const Checkpoint& checkpoint, FittingWeights& weights,
                                            const StateStore& store, const Averages& averages) {
  std::vector<StateStore::NewValue> states = std::move(weights.values);
  const NameIndex there(checkpoint.model.tensors);
  for (const auto& [parameter, moment] : averages.names()) {
    const Tensor& average = there.find(parameter)->tensor;
    states.push_back({moment, average.cast(store.at(moment).dtype())});
  }
  for (const NamedTensor& each : checkpoint.state.tensors)
    states.push_back({each.name, each.tensor});
  return states;
}

}  // namespace

std::vector<NamedTensor> Trainer::Implementation::kept_states() const {
  std::vector<NamedTensor> states;
  for (const auto& [name, entry] : model->store.entries())
    if (is_trainers(entry.role) && !averages.has(name) && !is_of_parts(trainer_owner, name) &&
        !is_of_step(*model, name))
      states.push_back({name, entry.value});
  for (const auto& [parameter, moment] : averages.names())
    states.push_back({parameter, model->store.at(parameter)});
  return states;
}

std::string Trainer::Implementation::add_checkpoint(CheckpointFolder& folder,
                                                    const CheckpointOptions& kept,
                                                    bool best) const {
  const std::shared_lock reading(model->in_use);
  require_weights();
  check_files(kept.files);
  Checkpoint content;
  content.path = resumed_from;
  content.files = kept.files;
  content.model = has_averages() ? weights_to_use(*model, averages) : weights_of(*model);
  content.state.tensors = kept_states();
  content.state.metadata = {{"format", "narrowgauge"},
                            {"model", model->name},
                            {"graph", plan.model},
                            {"precision", concat(plan.narrow)},
                            {"run", run},
                            {"steps", concat(steps)},
                            {"epoch", concat(position.epoch)},
                            {"batch", concat(position.batch)},
                            {"batch_size", concat(fit_batch)},
                            {"seed", concat(options.seed)},
                            {"watch", text_of(watch)}};
  if (best) content.state.metadata[best_key] = "1";
  content.files[plan_file] = print(plan);
  if (!kernels.records().empty())
    content.files[kernels_file] = kernel_records_text(kernels.records(), "any");
  return folder.add(content, kept.keep);
}

std::string Trainer::save(const std::string& folder) const {
  const Implementation& self = *implementation_;
  CheckpointFolder checkpoints(folder);
  return self.add_checkpoint(checkpoints, {}, false);
}

void Trainer::resume(const std::string& folder) {
  implementation_.pointer();  // an error of this Trainer goes ahead of those of files
  resume(read_checkpoint(folder));
}

void Trainer::resume(const Checkpoint& checkpoint) {
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  const std::string path = path_in(checkpoint.path, state_file);
  const TensorFile& file = checkpoint.state;
  require<DataError>(!file.metadata.empty(), path, ": there is no such file");
  StateStore& store = self.model->store;
  Mismatches mismatches(file, path);
  mismatches.compare("model", "the model", self.model->name);
  mismatches.compare_fingerprint("graph", "its network, loss or optimizer is another",
                                 self.plan.model);
  mismatches.compare("precision", "the format", concat(self.plan.narrow));
  mismatches.compare("seed", "the seed", concat(self.options.seed));
  mismatches.compare_states(file, self.kept_states());
  for (const std::string& difference : checkpoint.differences) mismatches.add(difference);
  mismatches.refuse();
  const std::int64_t steps = number_in(file, path, "steps");
  const BatchPosition position{number_in(file, path, "epoch"), number_in(file, path, "batch")};
  const std::int64_t fit_batch = number_in(file, path, "batch_size");
  const auto watch = file.metadata.find("watch");
  WatchState seen =
      watch == file.metadata.end() ? WatchState() : parse_watch_state(watch->second, path);
  FittingWeights weights = fitting_weights(
      *self.model, checkpoint.model, path_in(checkpoint.path, model_file), {.only_finite = true});
  std::optional<KernelRecords> kernels = kernels_in(checkpoint);
  const auto run = file.metadata.find("run");
  std::string run_name = run == file.metadata.end() ? self.run : run->second;
  std::string from = checkpoint.path;
  store.set(states_in(checkpoint, weights, store, self.averages));
  // Nothing fails from here on.
  if (kernels) self.kernels.set_records(*std::move(kernels));
  self.steps = static_cast<std::uint64_t>(steps);
  self.position = position;
  self.fit_batch = fit_batch;
  self.watch = std::move(seen);
  self.run = std::move(run_name);
  self.resumed_from = std::move(from);
}

std::int64_t Trainer::epochs_done() const { return implementation_->position.epoch; }

}  // namespace narrowgauge
