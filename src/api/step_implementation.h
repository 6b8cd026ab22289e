// SPDX-License-Identifier: Apache-2.0
// What a Step holds.
#pragma once

#include "api/averages.h"
#include "api/kernel_cache.h"
#include "api/mismatches.h"
#include "api/model_implementation.h"
#include "api/training_batch.h"
#include "base/parallel.h"
#include "narrowgauge/step.h"
#include "passes/differentiate.h"
#include "passes/in_f64.h"
#include "train/training_graph.h"

namespace narrowgauge {

// The graphs of a step: in one, or one after another.
struct StepPrograms {
  std::unique_ptr<Program> whole, forward, gradients, unscaling, update;
};

struct Step::Implementation : StepPrograms {
  std::shared_ptr<Model::Implementation> model;
  Objective objective;
  Optimizer optimizer;
  StepOptions options;
  bool chooses_scale = false;       // whether it was left to it to have a loss scale
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

  void compile();  // where it throws, step and model are as they were
  // Takes over the programs of a plan, with the states that they need.
  void adopt(const Graph& training, const Optimizer& now, const StepsTaken& taken);
  std::int64_t applied_steps() const;  // so far, also by an earlier Step of this name
  // In how many steps each parameter was updated, for those that rested while others were updated.
  StepsTaken steps_taken() const;
  bool has_moments(const std::string& parameter) const;  // all that its rule keeps
  // The averages that begin when steps were applied already, as the parameters themselves.
  std::vector<std::string> late_averages(const Averages& all) const;
  void require_own_name() const;  // throws UsageError where another Step of the model has it
  void require_latest() const;
  void require_weights() const;  // throws UsageError while their averages stand in their place
  void require_format() const;   // throws UsageError where the model's weights have another
  std::unique_ptr<Program> program(const Graph& f32_graph);
  // Gives `use` the outputs, which last until the next run of the program.
  void run(Program& program, std::span<const Tensor> inputs,
           FunctionRef<void(std::span<const Tensor> results)> use);
  int threads() const { return options.threads > 0 ? options.threads : thread_count(); }
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
  // A state that counts the steps of one parameter, see StepsTaken.
  std::string counter_name(std::string_view parameter) const {
    return moment_name(options.name, parameter, own_steps_name);
  }
  bool has_counter(std::string_view state) const {  // whether a state is one of this Step's
    return state.starts_with(state_name("")) && state.ends_with(concat('.', own_steps_name));
  }
  void add_counter(const std::string& state);  // to the store, where it lacks it
  void leave_scale();                          // to a GradScaler
  TrainingBatch taken(std::span<const Tensor> batch) const;
  bool scales() const { return optimizer.loss_scale.kind != LossScale::Kind::off; }

  // The members below are of step_checkpoint.cpp.
  std::vector<std::shared_ptr<Implementation>> all_of_model() const;  // in the order of names
  void require_whole() const;  // throws UsageError where it cannot be kept or go on
  std::vector<NamedTensor> kept_states() const;
  void add_to(TensorFile& file) const;
  void compare(const TensorFile& file, Mismatches& mismatches) const;
  void take(const Checkpoint& checkpoint);
};

}  // namespace narrowgauge
