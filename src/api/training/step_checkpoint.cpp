// SPDX-License-Identifier: Apache-2.0
// What a checkpoint keeps of a training by Steps, and how they go on from it.
#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "api/runs/checkpoint_files.h"
#include "api/runs/checkpoint_folder.h"
#include "api/runs/mismatches.h"
#include "api/training/step_implementation.h"
#include "precision/plans/fingerprint.h"

namespace narrowgauge {

namespace {

// The key in the metadata of a checkpoint's state: names of steps, and patterns, one a line.
constexpr const char* steps_key = "of_steps";

std::string key_of_step(const std::string& step, std::string_view what) {
  return concat("step/", step, '/', what);
}

std::string as_lines(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) lines += text + '\n';
  return lines;
}

std::vector<std::string> from_lines(std::string_view lines) {
  std::vector<std::string> texts;
  for (std::size_t end; (end = lines.find('\n')) != std::string_view::npos;
       lines.remove_prefix(end + 1))
    texts.emplace_back(lines.substr(0, end));
  return texts;
}

std::string text_in(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? "" : found->second;
}

// Counters are there where parameters rested, which may be in one of two trainings of a kind.
TensorFile without_counters(TensorFile file) {
  std::erase_if(file.tensors, [](const NamedTensor& each) {
    return each.name.ends_with(concat('.', own_steps_name));
  });
  return file;
}

// What weights without masters lost in rounding, which is theirs and of no step.
std::vector<NamedTensor> compensations(const StateStore& store) {
  std::vector<NamedTensor> states;
  for (const auto& [name, entry] : store.entries())
    if (const std::string lost = concat(name, ".compensation");
        entry.role == Role::parameter && entry.declared && store.has(lost))
      states.push_back({lost, store.at(lost)});
  return states;
}

}  // namespace

std::vector<std::shared_ptr<Step::Implementation>> Step::Implementation::all_of_model() const {
  std::vector<std::shared_ptr<Implementation>> all;
  for (const auto& [name, step] : model->steps)
    if (const std::shared_ptr<void> living = step.lock())
      all.push_back(std::static_pointer_cast<Implementation>(living));
  return all;
}

void Step::Implementation::require_whole() const {
  require_weights();
  require(!pending, "step '", options.name,
          "': save() and resume() are not for between backward() and update()");
}

std::vector<StateStore::NewValue> Step::Implementation::own_states() const {
  std::vector<StateStore::NewValue> states;
  for (const auto& [name, entry] : model->store.entries())
    if ((entry.role == Role::moment || entry.role == Role::control) &&
        name.starts_with(state_name("")))
      states.push_back({name, entry.value});
  return states;
}

std::vector<NamedTensor> Step::Implementation::kept_states() const {
  std::vector<NamedTensor> states;
  for (const StateStore::NewValue& each : own_states())
    if (!is_of_parts(options.name, each.state)) states.push_back({each.state, each.value});
  return states;
}

void Step::Implementation::add_to(TensorFile& file) const {
  const auto keep = [&](std::string_view what, std::string text) {
    file.metadata[key_of_step(options.name, what)] = std::move(text);
  };
  keep("objective", fingerprint(network));
  keep("rule", settings.optimizer.rule.op().full_name());
  keep("precision", concat(settings.optimizer.precision.narrow));
  keep("seed", concat(options.seed));
  keep("runs", concat(steps));
  keep("scale", scales() ? "own" : "none");
  keep("frozen", as_lines(settings.frozen));
  for (NamedTensor& state : kept_states()) file.tensors.push_back(std::move(state));
}

void Step::Implementation::compare(const TensorFile& file, Mismatches& mismatches) const {
  const std::string who = concat("step '", options.name, "': ");
  const auto key = [&](std::string_view what) { return key_of_step(options.name, what); };
  mismatches.compare_fingerprint(key("objective"), who + "its objective is another",
                                 fingerprint(network));
  const Optimizer& optimizer = settings.optimizer;
  mismatches.compare(key("rule"), who + "the rule", optimizer.rule.op().full_name());
  mismatches.compare(key("precision"), who + "the format", concat(optimizer.precision.narrow));
  mismatches.compare(key("seed"), who + "the seed", concat(options.seed));
  if (!chooses_scale)
    mismatches.compare(key("scale"), who + "the loss scale", scales() ? "own" : "none");
  if (text_in(file, key("runs")).empty()) mismatches.add(who + "it has no such step");
}

// The graphs follow from what is frozen and from the counters, and add states.
ResumedStep Step::Implementation::resumed(const Checkpoint& checkpoint, StateStore& store,
                                          std::vector<StateStore::NewValue>& values) {
  const TensorFile& file = checkpoint.state;
  const std::string path = path_in(checkpoint.path, state_file);
  const auto key = [&](std::string_view what) { return key_of_step(options.name, what); };
  const Tensor& applied = *file.find(state_name("applied_steps"));
  for (const auto& [name, tensor] : file.tensors)
    if (has_counter(name)) store.add_copy(name, Role::control, Tensor::scalar(DType::i64, 0));
  for (const auto& [name, entry] : store.entries()) {
    if (!has_counter(name)) continue;
    const Tensor* const own = file.find(name);
    store.replace(name, own ? *own : applied);
  }
  store.replace(state_name("applied_steps"), applied);
  StepSettings wanted{settings.optimizer, from_lines(text_in(file, key("frozen")))};
  if (text_in(file, key("scale")) == "none")
    wanted.optimizer.loss_scale.kind = LossScale::Kind::off;
  ResumedStep made;
  made.form = form_for(std::move(wanted), store);
  made.steps = static_cast<std::uint64_t>(number_in(file, path, key("runs")));
  made.kernels = kernels_in(checkpoint);
  for (const auto& [name, tensor] : file.tensors)
    if (name.starts_with(state_name("")) && store.has(name)) values.push_back({name, tensor});
  return made;
}

void Step::Implementation::go_on(ResumedStep&& step) noexcept {
  take(std::move(step.form));
  steps = step.steps;
  if (step.kernels) kernels.set_records(*std::move(step.kernels));
}

std::string Step::save(const std::string& folder,
                       const std::map<std::string, std::string>& files) const {
  const Implementation& self = *implementation_;
  check_files(files);
  CheckpointFolder checkpoints(folder);
  const std::shared_lock reading(self.model->in_use);
  self.require_whole();
  Checkpoint content;
  content.files = files;
  content.model = weights_of(*self.model);
  std::vector<std::string> names;
  std::uint64_t runs = 0;
  KernelRecords kernels;
  for (const auto& step : self.all_of_model()) {
    step->require_whole();
    step->add_to(content.state);
    names.push_back(step->options.name);
    runs += step->steps;
    kernels.insert(step->kernels.records().begin(), step->kernels.records().end());
  }
  content.state.metadata.merge(std::map<std::string, std::string>{{"format", "narrowgauge"},
                                                                  {"model", self.model->name},
                                                                  {"run", self.model->run_of_steps},
                                                                  {"steps", concat(runs)},
                                                                  {"epoch", "0"},
                                                                  {steps_key, as_lines(names)}});
  for (NamedTensor& state : compensations(self.model->store))
    content.state.tensors.push_back(std::move(state));
  if (!kernels.empty()) content.files[kernels_file] = kernel_records_text(kernels, "any");
  constexpr std::int64_t kept = 2;
  return checkpoints.add(content, kept);
}

void Step::resume(const std::string& folder) { resume(read_checkpoint(folder)); }

void Step::resume(const Checkpoint& checkpoint) {
  const Implementation& self = *implementation_;
  Model::Implementation& model = *self.model;
  const std::lock_guard alone(model.in_use);
  const auto all = self.all_of_model();
  const std::string path = path_in(checkpoint.path, state_file);
  const TensorFile& file = checkpoint.state;
  require<DataError>(file.metadata.contains(steps_key), path,
                     ": is of no training by steps that were saved");
  self.require_whole();
  Mismatches mismatches(file, path);
  mismatches.compare("model", "the model", model.name);
  std::vector<std::string> names;
  TensorFile wanted{compensations(model.store), {}};
  for (const auto& step : all) {
    step->require_whole();
    names.push_back(step->options.name);
    for (NamedTensor& state : step->kept_states()) wanted.tensors.push_back(std::move(state));
  }
  if (as_lines(names) != text_in(file, steps_key))
    mismatches.add(
        concat("its steps are ", from_lines(text_in(file, steps_key)), ", here ", names));
  for (const auto& step : all) step->compare(file, mismatches);
  mismatches.compare_states(without_counters(file), without_counters(wanted).tensors);
  for (const std::string& difference : checkpoint.differences) mismatches.add(difference);
  mismatches.refuse();
  FittingWeights weights = fitting_weights(
      model, checkpoint.model, path_in(checkpoint.path, model_file), {.only_finite = true});
  StateStore store = model.store;
  std::vector<StateStore::NewValue> values = std::move(weights.values);
  std::vector<ResumedStep> resumed;
  for (const auto& step : all) resumed.push_back(step->resumed(checkpoint, store, values));
  for (const NamedTensor& state : compensations(store))
    values.push_back({state.name, *file.find(state.name)});
  std::string run = text_in(file, "run");
  store.set(values);
  // Nothing fails from here on.
  model.store = std::move(store);
  for (std::size_t i = 0; i < all.size(); ++i) all[i]->go_on(std::move(resumed[i]));
  model.adopt_of_file(std::move(weights.precision));
  model.run_of_steps.swap(run);
}

}  // namespace narrowgauge
