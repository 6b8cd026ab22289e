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
  std::string precision;          // what it is called: "ieee", "f32", "bf16", "f16"
  std::optional<DType> narrow{};  // of mixed precision
  FitResult fit{};
  double loss_scale = 1;  // of the last step
  bool scaled = true;     // whether a loss scale was in use
  std::int64_t activation_bytes = 0;
  std::string sha256{};  // of the weights
  RecomputeReport recomputed{};
  FlushReport flushed{};
  std::vector<Trainer::KernelChoice> kernels{};
};

struct FitTask {
  std::string precision;  // what it is called
  std::shared_ptr<DataSource> training, test;
  FitOptions options{};
};
// Trains by Trainer::fit() and notes what came of it; `scaled` is the caller's to know.
NG_API TrainingOutcome fit_and_note(Model& model, Trainer& trainer, const FitTask& task,
                                    const ProgressCallback& progress = {});

// One way of training.
struct CompareCase {
  std::string precision;  // what it is called
  Optimizer optimizer{};
  TrainerOptions options{};
  FitOptions fit{};
};

struct CompareTask {
  std::string name{};
  BuildNetwork build{};
  Loss loss{};
  std::uint64_t seed = 1;  // of the weights
  std::shared_ptr<DataSource> training{}, test{};
  std::vector<CompareCase> cases{};
};

// Called while the cases train one after another; each may be empty.
struct CompareWatch {
  std::function<void(const CompareCase&, Model&)> begin{};              // may load weights
  std::function<bool(const CompareCase&, const Progress&)> progress{};  // false stops all
};

struct Comparison {
  std::vector<TrainingOutcome> runs{};  // the last was stopped by progress(), if `stopped`
  bool stopped = false;
  std::string diverged{};  // what ended the case after them, which diverged; "": none did
};
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
NG_API ContractionUse contraction_use(const std::vector<Trainer::KernelChoice>& kernels);

}  // namespace narrowgauge
