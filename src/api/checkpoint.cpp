// SPDX-License-Identifier: Apache-2.0
// What a checkpoint keeps of a training, and how training resumes from it.
#include <charconv>

#include "api/checkpoint_files.h"
#include "api/checkpoint_folder.h"
#include "api/trainer_implementation.h"
#include "base/log.h"
#include "train/training_graph.h"

namespace narrowgauge {

namespace {

std::int64_t number_in(const TensorFile& file, const std::string& path, const std::string& key) {
  const auto found = file.metadata.find(key);
  require<DataError>(found != file.metadata.end(), path, ": has no '", key,
                     "': not a checkpoint of narrowgauge");
  std::int64_t value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require<DataError>(error == std::errc{} && end == text.data() + text.size() && value >= 0, path,
                     ": '", key, "' is '", text, "', expected a number");
  return value;
}

bool is_trainers(Role role) { return role == Role::moment || role == Role::control; }

// All in which a checkpoint is of another training, in one error.
class Mismatches {
 public:
  Mismatches(const TensorFile& file, std::string path) : file_(file), path_(std::move(path)) {}

  void compare(const std::string& key, const std::string& what, const std::string& wanted) {
    const auto found = file_.metadata.find(key);
    const std::string there = found == file_.metadata.end() ? "" : found->second;
    if (there != wanted) add(concat(what, " is '", there, "', here '", wanted, "'"));
  }
  // Fingerprints say nothing to people.
  void compare_graph(const std::string& wanted) {
    const auto found = file_.metadata.find("graph");
    if (found == file_.metadata.end() || found->second != wanted)
      add("its network, loss or optimizer is another");
  }
  void compare_states(const std::vector<NamedTensor>& wanted) {
    std::size_t missing = 0;
    std::string first;
    for (const auto& [name, tensor] : wanted) {
      const Tensor* const value = file_.find(name);
      if (value && value->type() == tensor.type()) continue;
      if (missing++ == 0) first = concat("it has no '", name, "' of type ", tensor.type());
    }
    if (missing > 1) first += concat(" and ", missing - 1, " more");
    if (missing > 0) add(first);
    const std::size_t known = wanted.size() - missing, all = file_.tensors.size();
    if (all > known) add(concat("it holds ", all - known, " states that this training lacks"));
  }
  void add(const std::string& difference) { text_ += (text_.empty() ? "" : "; ") + difference; }
  void refuse() const {
    require<DataError>(text_.empty(), path_, ": is of another training: ", text_);
  }

 private:
  const TensorFile& file_;
  std::string path_, text_;
};

// A resumed training uses the same kernels, if this machine has them.
std::optional<KernelRecords> kernels_in(const Checkpoint& checkpoint) {
  const auto file = checkpoint.files.find(kernels_file);
  if (file == checkpoint.files.end()) return std::nullopt;
  try {
    return parse_kernel_records(file->second, path_in(checkpoint.path, kernels_file), "any");
  } catch (const DataError& error) {
    log(LogLevel::warning, concat(error.what(), "; the fastest kernels are chosen anew"));
    return std::nullopt;
  }
}

void check_files(const std::map<std::string, std::string>& files) {
  for (const auto& [name, text] : files) {
    const bool taken = name == model_file || name == state_file || name == manifest_file ||
                       name == plan_file || name == kernels_file;
    require(!name.empty() && name[0] != '.' && name.find('/') == std::string::npos && !taken,
            "checkpoint: \"", name, "\" cannot be the name of a file kept with it");
  }
}

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
  for (const auto& [parameter, moment] : averages.names()) {
    const Tensor* const average = checkpoint.model.find(parameter);
    states.push_back({moment, average->cast(store.at(moment).dtype())});
  }
  for (const NamedTensor& each : checkpoint.state.tensors)
    states.push_back({each.name, each.tensor});
  return states;
}

}  // namespace

std::vector<NamedTensor> Trainer::Implementation::kept_states() const {
  std::vector<NamedTensor> states;
  for (const auto& [name, entry] : model->store.entries())
    if (is_trainers(entry.role) && !averages.has(name) && !is_of_parts(trainer_owner, name))
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
  CheckpointFolder checkpoints(folder);
  return implementation_->add_checkpoint(checkpoints, {}, false);
}

void Trainer::resume(const std::string& folder) { resume(read_checkpoint(folder)); }

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
  mismatches.compare_graph(self.plan.model);
  mismatches.compare("precision", "the format", concat(self.plan.narrow));
  mismatches.compare("seed", "the seed", concat(self.options.seed));
  mismatches.compare_states(self.kept_states());
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
  store.set(states_in(checkpoint, weights, store, self.averages));
  // Nothing fails from here on.
  if (kernels) self.kernels.set_records(*std::move(kernels));
  self.steps = static_cast<std::uint64_t>(steps);
  self.position = position;
  self.fit_batch = fit_batch;
  self.watch = std::move(seen);
  self.run = std::move(run_name);
}

std::int64_t Trainer::epochs_done() const { return implementation_->position.epoch; }

}  // namespace narrowgauge
