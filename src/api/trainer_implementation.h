// SPDX-License-Identifier: Apache-2.0
// What a Trainer holds.
#pragma once

#include "api/kernel_cache.h"
#include "api/metric_watch.h"
#include "api/model_implementation.h"
#include "base/output_path.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

struct Trainer::Implementation {
  Model::Implementation* model = nullptr;
  Loss loss;
  Optimizer optimizer;
  TrainerOptions options;

  KernelChoices kernels{kernel_cache()};  // ahead of the programs, which use it
  Graph training_graph;                   // f32
  PrecisionPlan plan;
  std::unique_ptr<Program> training, evaluation;
  int number = 0;                     // among the Trainers of the model
  int evaluation_precision = 0;       // model->precisions when `evaluation` was made
  std::uint64_t steps = 0;            // run so far, skipped ones included
  BatchPosition position;             // of the next batch of fit()
  std::int64_t fit_batch = 0;         // samples in a batch of fit(); 0: it never ran
  std::string run = random_digits();  // what checkpoints of one run have in common
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

  // The members below are called with the model in use.
  Program* known_evaluation() const;  // nullptr: none yet, or in another precision
  Program& evaluation_program();
  // Throws OutOfMemoryError if a program cannot take such batches of the source, of which a loader
  // will read `samples` samples in all.
  static void prepare(Program& program, const DataSource& source, std::int64_t batch,
                      std::int64_t samples);
  // `best`: whether the latest evaluation is the best so far.
  std::string add_checkpoint(CheckpointFolder& folder, const CheckpointOptions& kept,
                             bool best) const;
  void require_latest() const;  // throws UsageError: a newer Trainer has the model's state
  Executor* executor() const { return training ? training->latest() : nullptr; }
};

}  // namespace narrowgauge
