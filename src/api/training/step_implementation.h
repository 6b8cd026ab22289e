// SPDX-License-Identifier: Apache-2.0
// What a Step holds.
#pragma once

#include "api/model/model_implementation.h"
#include "api/programs/kernel_cache.h"
#include "api/runs/mismatches.h"
#include "api/training/averages.h"
#include "api/training/training_batch.h"
#include "base/threads/parallel.h"
#include "narrowgauge/step.h"
#include "passes/core/in_f64.h"
#include "passes/training/differentiate.h"
#include "train/training_graph.h"

namespace narrowgauge {

// The graphs of a step: in one, or one after another.
struct StepPrograms {
  std::unique_ptr<Program> whole, forward, gradients, unscaling, update;
};

// What the graphs follow from that may change.
struct StepSettings {
  Optimizer optimizer;
  std::vector<std::string> frozen{};  // patterns
};

// What a step computes by its settings and by the counters of a store.
struct StepForm {
  StepSettings settings;
  StepPrograms programs;
  Averages averages;
  // How predictions compute from then on, which are made anew; nothing: as before.
  std::optional<Model::Implementation::Precision> predictions{};
};

struct ResumedStep {
  StepForm form;
  std::uint64_t steps = 0;
  std::optional<KernelRecords> kernels{};
};

struct Step::Implementation : StepPrograms {
  std::shared_ptr<Model::Implementation> model;
  Objective objective;
  StepSettings settings;
  StepOptions options;
  bool chooses_scale = false;  // whether it was left to it to have a loss scale
  int trainers = 0;            // of the model, when this was made
  std::uint64_t steps = 0;     // taken so far, micro-batches included
  double loss = 0;             // sum over the backward() calls since the last update
  bool pending = false;        // whether there are any
  bool unscaled = false;       // whether the gradients were given out

  KernelChoices kernels{kernel_cache()};
  Graph network;  // the objective in training, f32 or f64
  Averages averages;

  // Makes the network, and leaves the model as it is.
  void set_up(const Model& given, Objective loss, Optimizer optimizer, StepOptions how);
  // Compiles for a model that this Step did not train before, and enters it there; it goes on with
  // the states of `former`, if there is one. Where this throws, the model is as it was.
  static void enter(const std::shared_ptr<Implementation>& step, StepSettings wanted,
                    const Implementation* former);
  // Takes these settings, and values of states with them. Where it throws, step and model are as
  // they were.
  void compile(StepSettings wanted, std::span<const StateStore::NewValue> values = {});
  // What these settings and the counters of a store lead to; the states that it needs are added to
  // the store, and none changes that the model has too.
  StepForm form_for(StepSettings wanted, StateStore& store);
  void take(StepForm&& form) noexcept;                   // with its store as the model's
  std::vector<StateStore::NewValue> own_states() const;  // moments and counters, as they are
  // These, and the values that it shares with other steps.
  std::vector<StateStore::NewValue> training_values() const;
  // Steps applied so far, also by an earlier Step of this name.
  std::int64_t applied_steps(const StateStore& store) const;
  // In how many steps each parameter was updated, for those that rested while others were updated.
  StepsTaken steps_taken(const StepSettings& given, const StateStore& store) const;
  // Whether it has all that its rule keeps.
  bool has_moments(const std::string& parameter, const StateStore& store) const;
  // The averages that begin when steps were applied already, as the parameters themselves.
  std::vector<std::string> late_averages(const Averages& all, const StateStore& store) const;
  void require_own_name() const;  // throws UsageError where another Step of the model has it
  void require_latest() const;
  void require_weights() const;  // throws UsageError while their averages stand in their place
  void require_format() const;   // throws UsageError where the model's weights have another
  std::unique_ptr<Program> program(const Graph& f32_graph, const PrecisionPlan& plan);
  // Gives `use` the outputs, which last until the next run of the program.
  void run(Program& program, std::span<const Tensor> inputs,
           FunctionRef<void(std::span<const Tensor> results)> use);
  int threads() const { return options.threads > 0 ? options.threads : thread_count(); }
  Optimizer optimizer_for(const StepSettings& given) const;
  std::vector<std::string> trained(const StepSettings& given) const;  // that are not frozen
  std::vector<std::string> trained() const { return trained(settings); }
  bool is_in_f64() const { return settings.optimizer.precision.in_f64; }
  DType dtype() const { return is_in_f64() ? DType::f64 : DType::f32; }  // of the scalars
  Graph widened(Graph f32_graph) const {
    return is_in_f64() ? in_f64(f32_graph, InputsInF64::kept) : std::move(f32_graph);
  }
  bool counts(Value parameter) const {  // whether the loss depends on it
    return why_blocked(network, network.find_output("loss"), parameter).reaches;
  }
  std::vector<NamedTensor> sums() const;  // of gradients, as they are
  void unscale();
  bool& flag(std::string_view name);  // in the store: to change it takes no memory
  std::string state_name(std::string_view kind) const { return concat(options.name, '/', kind); }
  // A state that counts the steps of one parameter, see StepsTaken.
  std::string counter_name(std::string_view parameter) const {
    return moment_name(options.name, parameter, own_steps_name);
  }
  bool has_counter(std::string_view state) const {  // whether a state is one of this Step's
    return state.starts_with(state_name("")) && state.ends_with(concat('.', own_steps_name));
  }
  void leave_scale();  // to a GradScaler
  TrainingBatch taken(std::span<const Tensor> batch) const;
  bool scales() const { return settings.optimizer.loss_scale.kind != LossScale::Kind::off; }

  // The members below are of step_checkpoint.cpp.
  std::vector<std::shared_ptr<Implementation>> all_of_model() const;  // in the order of names
  void require_whole() const;  // throws UsageError where it cannot be kept or go on
  std::vector<NamedTensor> kept_states() const;
  void add_to(TensorFile& file) const;
  void compare(const TensorFile& file, Mismatches& mismatches) const;
  // What it becomes by a checkpoint, with states in a store as form_for(); adds the values that
  // these are to have then.
  ResumedStep resumed(const Checkpoint& checkpoint, StateStore& store,
                      std::vector<StateStore::NewValue>& values);
  void go_on(ResumedStep&& step) noexcept;
};

}  // namespace narrowgauge
