// SPDX-License-Identifier: Apache-2.0
// Trains a network in several precisions, from the same weights over the same batches, and says how
// the results differ:
//
//   CompareTask task{.name = "mine", .build = build, .loss = softmax_cross_entropy(),
//                    .training = training, .test = test};
//   task.cases = {{"f32", sgd(0.05)}, {"bf16", sgd(0.05)}};
//   enable_mixed_precision(task.cases[1].optimizer, DType::bf16);
//   const Comparison comparison = compare(task);
//   const double points = 100 * largest_difference(comparison.runs);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

// What came of a training.
struct TrainingOutcome {
  std::string precision;              // what it is called: "ieee", "f32", "bf16", "f16"
  std::optional<DType> narrow{};      // of mixed precision
  FitResult fit{};                    // losses, speed, steps and the test
  double loss_scale = 1;              // of the last step
  bool scaled = true;                 // whether a loss scale was in use
  double ema_decay = 0;               // of the averages that were tested; 0: the weights were
  std::int64_t activation_bytes = 0;  // most bytes of values alive at once in a step
  std::int64_t state_bytes = 0;       // as Trainer::state_bytes()
  std::string sha256{};               // of the weights
  RecomputeReport recomputed{};       // what the steps computed again to save memory
  FlushReport flushed{};              // gradients that became zero in f16
  std::vector<Trainer::KernelChoice> kernels{};  // with times if the trainer's profile is enabled
};

// What fit_and_note() trains on.
struct FitTask {
  std::string precision;                       // what it is called
  std::shared_ptr<DataSource> training, test;  // `test` may be null: nothing is evaluated
  FitOptions options{};                        // epochs, batch and checkpoints
};
// Trains by Trainer::fit() and notes what came of it; `scaled` is the caller's to know.
NG_API TrainingOutcome fit_and_note(Model& model, Trainer& trainer, const FitTask& task,
                                    const ProgressCallback& progress = {});

// One way of training.
struct CompareCase {
  std::string precision;     // what it is called
  Optimizer optimizer{};     // with the number formats that it asks for
  TrainerOptions options{};  // of the case's Trainer
  FitOptions fit{};          // epochs, batch and checkpoints
};

// What compare() trains: one network on the same data, once for each case.
struct CompareTask {
  std::string name{};                              // of the model, for files and messages
  BuildNetwork build{};                            // makes the network's inputs and layers
  Loss loss{};                                     // what training minimises
  std::uint64_t seed = 1;                          // of the weights
  std::shared_ptr<DataSource> training{}, test{};  // `test` may be null: nothing is evaluated
  std::vector<CompareCase> cases{};                // in the order of training
};

// Called while the cases train one after another; each may be empty.
struct CompareWatch {
  std::function<void(const CompareCase&, Model&)> begin{};              // may load weights
  std::function<bool(const CompareCase&, const Progress&)> progress{};  // false stops all
};

// What compare() found.
struct Comparison {
  std::vector<TrainingOutcome> runs{};  // the last was stopped by progress(), if `stopped`
  bool stopped = false;                 // by CompareWatch::progress: later cases did not run
  std::string diverged{};  // what ended the case after them, which diverged; "": none did
};
// Trains the cases one after another, each with a new model and its kernels timed. The first that
// diverges or is stopped is the last. Throws what Model, Trainer and Trainer::fit() throw, but for
// DivergedError.
NG_API Comparison compare(const CompareTask& task, const CompareWatch& watch = {});

// The run that others are compared with: that called "ieee", else "f32", else the first.
NG_API const TrainingOutcome& base_of(const std::vector<TrainingOutcome>& runs);
// The ratio of the rates of training.
NG_API double speed_up(const TrainingOutcome& run, const TrainingOutcome& base);
// Two standard errors of the difference between two independent accuracies.
NG_API double accuracy_noise(const Evaluation& a, const Evaluation& b);
// The largest difference of a test accuracy from that of base_of().
NG_API double largest_difference(const std::vector<TrainingOutcome>& runs);

// How much of the time of kernels contractions take, and how many of them gain nothing from a
// narrow format.
struct ContractionUse {
  int count = 0, widened = 0;  // widened: operands become f32 before they multiply
  double share = 0;            // of the time of all kernels
};
// Counts contractions among Trainer::kernels(); the share is 0 unless a profile was enabled.
NG_API ContractionUse contraction_use(const std::vector<Trainer::KernelChoice>& kernels);

}  // namespace narrowgauge
