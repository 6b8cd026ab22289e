// SPDX-License-Identifier: Apache-2.0
// What a Trainer holds.
#pragma once

#include "api/model/model_implementation.h"
#include "api/programs/kernel_cache.h"
#include "api/training/averages.h"
#include "api/training/metric_watch.h"
#include "base/files/output_path.h"
#include "narrowgauge/model.h"
#include "runtime/held_states.h"

namespace narrowgauge {

// What parts of the library that share a Trainer may do with it.
struct TrainerAccess {
  // The same Trainer once more, for a holder of its own.
  static Trainer share(const Trainer& trainer) {
    return Trainer(trainer.implementation_.pointer());
  }
};

struct Trainer::Implementation {
  std::shared_ptr<Model::Implementation> model;
  Loss loss;
  Optimizer optimizer;
  TrainerOptions options;

  KernelChoices kernels{kernel_cache()};  // ahead of the programs, which use it
  Graph training_graph;                   // f32
  PrecisionPlan plan;
  // `training` makes a step, or with `update` the gradients of a part of a batch.
  std::unique_ptr<Program> training, update, evaluation;
  HeldStates before_parts;  // what parts change, as it was before the first of them
  Averages averages;
  int number = 0;                     // among the Trainers of the model
  int evaluation_precision = 0;       // model->precisions when `evaluation` was made
  bool evaluates_averages = false;    // whether `evaluation` reads them
  bool evaluates_rows = false;        // whether its loss takes scores [N, ..., classes] as rows
  std::uint64_t steps = 0;            // run so far, skipped ones included
  BatchPosition position;             // of the next batch of fit()
  std::int64_t fit_batch = 0;         // samples in a batch of fit(); 0: it never ran
  std::string run = random_digits();  // what checkpoints of one run have in common
  std::string resumed_from{};         // the path of the checkpoint; "": of none
  int bad_losses = 0;                 // in a row
  std::int64_t skips = 0;             // in a row
  WatchState watch;                   // of fit()'s evaluations
  bool profile = false, keeps_runs = false, keeps_gradients = false;

  void begin_fit(const DataSource* source, const DataSource* test, const FitOptions& how);
  // These throw a DivergedError about the step that was just made on a batch.
  void watch_loss(const StepResult& result, std::span<const Tensor> batch);
  void watch_skips(const StepResult& result, std::span<const Tensor> batch, std::int64_t most);
  // "; the first value that is not finite is 'logits' (f16)" of that step, "" if none is found.
  std::string first_not_finite(const StepResult& result, std::span<const Tensor> batch);
  Verdict judge(const Evaluation& result, const FitOptions& how);

  // Makes the programs of a training, and leaves the model as it is.
  void set_up(const Model& given, Loss loss, Optimizer optimizer, TrainerOptions options);

  // The members below are called with the model in use.
  // Gives the model over to this Trainer, which goes on with the states of `former`, a training of
  // another model, if there is one. Where this throws, the model is as it was.
  void take_over(const StateStore* former);
  Program* known_evaluation() const;  // nullptr: none yet, or in another precision
  Program& evaluation_program();
  // Throws OutOfMemoryError if a program cannot take such batches of the source, of which a loader
  // will read `samples` samples in all.
  static void prepare(Program& program, const DataSource& source, std::int64_t batch,
                      std::int64_t samples);
  // `best`: whether the latest evaluation is the best so far.
  std::string add_checkpoint(CheckpointFolder& folder, const CheckpointOptions& kept,
                             bool best) const;
  void require_latest() const;   // throws UsageError: a newer Trainer has the model's state
  void require_weights() const;  // the same while their averages stand in the place of weights
  bool has_averages() const;     // some, once a step was applied
  bool reads_averages() const { return has_averages() && !averages.are_swapped(); }
  std::int64_t parts_of(std::span<const Tensor> batch) const;  // throws where it cannot be cut
  // The inputs of `training` for a part of a batch.
  std::vector<Tensor> inputs_for(std::span<const Tensor> batch, std::int64_t part) const;
  std::uint64_t run_number(std::uint64_t step, std::int64_t part) const;  // for random numbers
  // Adds up the gradients of the parts of a batch, and returns its loss.
  double accumulate(std::span<const Tensor> batch);
  StepResult step_in_parts(std::span<const Tensor> batch);
  // Gives `use` the outputs, which last until the next run of the program.
  void compute(Program& program, std::span<const Tensor> inputs, std::uint64_t number_of_run,
               FunctionRef<void(std::span<const Tensor> results)> use);
  // The states that a checkpoint keeps beside the model's file.
  std::vector<NamedTensor> kept_states() const;

  Program& checking() const { return update ? *update : *training; }  // that checks the gradients
  Executor* executor() const { return training ? training->latest() : nullptr; }
  std::vector<const Executor*> executors() const;  // of a step, in its order, as far as there are
};

}  // namespace narrowgauge
