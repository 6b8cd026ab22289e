// SPDX-License-Identifier: Apache-2.0
// One training run of the program, and its results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/json.h"
#include "cli/progress/progress.h"
#include "cli/task/run_folder.h"
#include "narrowgauge/compare.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

struct SessionOptions {
  std::optional<std::string> plan_file{};
  std::optional<std::string> plan_text{};  // instead of reading plan_file, which then names it
  std::string plan_reason{};               // kept in the plan
  Recompute recompute = Recompute::off;
  bool trace = false;                  // tells on stderr what each pass of compilation did
  std::vector<std::string> metrics{};  // that evaluations also measure
  std::vector<OwnMetric> own_metrics{};
};

// A network and its trainer, made from settings and data.
class Session {
 public:
  Session(const Settings& settings, const Task& task, const SessionOptions& options);

  Model& model() { return *model_; }
  Trainer& trainer() { return *trainer_; }
  const Settings& settings() const { return settings_; }

 private:
  Settings settings_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Trainer> trainer_;
};

// "auto" (also where nothing is said) or "off".
Recompute recompute_of(const TrainFlags& flags);
// Options with the plan that the run was trained by, where that is what is asked for now.
SessionOptions plan_of(const Run& run, const RunPrecision& now, const PrecisionFlags& flags);
void load_weights(Model& model, const Run& run);

// Replaces --amp auto by the fastest format, says so and returns the reason; for others "" and no
// change.
std::string settle_auto(Settings& settings, const Task& task);

ReportStyle style_of(const TrainFlags& flags);
// Where and how often a training saves; locks the folder. Nothing without a folder.
CheckpointOptions checkpoints_in(const std::optional<std::string>& folder, const TrainFlags& flags,
                                 const Settings& settings);

// Lets the checkpoints have the record of the run, and keeps its network beside them. Nothing
// without a folder.
void keep_record(CheckpointOptions& checkpoints, Settings settings, const Task& task);

// What a Trainer and fit() are told.
TrainerOptions trainer_options(const Settings& settings, const SessionOptions& options);
FitOptions fit_options(const Settings& settings, CheckpointOptions checkpoints);
// Makes the usual batch fit the samples of the task, and says so where that changes it.
void fit_batch(Settings& settings, const Task& task, const TrainFlags& flags);
// Throws UsageError for a batch larger than the training set.
void check_batch(const Settings& settings, const Task& task);

// Loads --weights as --weights-match says and reports what it left out, on stderr or, in JSON, as a
// line {"event":"weights",...}. Throws DataError also for weights that are not finite.
void take_weights(Model& model, const TrainFlags& flags);

// Throws DivergedError saying for how many samples the predictions are not finite.
void require_finite(const Evaluation& evaluation);

// Trains to settings.epochs, or until Ctrl-C, which lets the step finish. Each report goes to
// `also` too.
TrainingOutcome train(Session& session, const Task& task, ReportStyle style,
                      CheckpointOptions checkpoints,
                      const std::function<void(const Progress&)>& also = {});

Amp amp_of(const TrainingOutcome& outcome);

// A remark about gradients that f16 could not hold; "" if there were none.
std::string flush_text(const TrainingOutcome& outcome);

// {"amp":..., "test_accuracy":..., ...}
JsonObject outcome_json(const TrainingOutcome& outcome, const ResultWords& words = {});

}  // namespace narrowgauge::cli
