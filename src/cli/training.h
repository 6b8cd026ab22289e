// SPDX-License-Identifier: Apache-2.0
// One training run of the program, and its results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/json.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

struct SessionOptions {
  std::optional<std::string> plan_file{};
  std::optional<std::string> plan_text{};  // instead of reading plan_file, which then names it
  std::string plan_reason{};               // kept in the plan
  bool trace = false;                      // tells on stderr what each pass of compilation did
  bool profile = false;                    // measures each kernel
};

// A network and its trainer, made from settings and data.
class Session {
 public:
  Session(const Settings& settings, const ImageData& data, const SessionOptions& options);

  Model& model() { return *model_; }
  Trainer& trainer() { return *trainer_; }
  const Settings& settings() const { return settings_; }

 private:
  Settings settings_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Trainer> trainer_;
};

// Options with the plan that the run was trained by.
SessionOptions plan_of(const Run& run);
void load_weights(Model& model, const Run& run);

// Replaces "auto" by the fastest format, says so and returns the reason; for others "" and no
// change.
std::string settle_auto(Settings& settings, const ImageData& data);

// "f16" or "bf16"; for f32 "ieee" or "f32".
std::string precision_of(const Settings& settings);
ReportStyle style_of(const TrainFlags& flags);
// Where and how often a training saves; locks the folder. Nothing without a folder.
CheckpointOptions checkpoints_in(const std::optional<std::string>& folder, const TrainFlags& flags,
                                 const Settings& settings);

// Loads --weights as --weights-match says and reports what it left out, on stderr or, in JSON, as a
// line {"event":"weights",...}. Throws DataError also for weights that are not finite.
void take_weights(Session& session, const TrainFlags& flags);

// Throws DivergedError saying for how many samples the predictions are not finite.
void require_finite(const Evaluation& evaluation);

struct Outcome {
  std::string amp, precision;
  FitResult fit;
  double loss_scale = 1;  // of the last step
  std::int64_t activation_bytes = 0;
  std::string sha256;
  FlushReport flushed;
  bool scaled = true;  // whether a loss scale was in use
  std::vector<Trainer::KernelChoice> kernels;
};

// Trains to settings.epochs, or until Ctrl-C, which lets the step finish. Adds the program's own
// files to the checkpoints.
Outcome train(Session& session, const ImageData& data, ReportStyle style,
              CheckpointOptions checkpoints);

// A remark about gradients that f16 could not hold; "" if there were none.
std::string flush_text(const Outcome& outcome);

// {"amp":..., "test_accuracy":..., ...}
JsonObject outcome_json(const Outcome& outcome);

}  // namespace narrowgauge::cli
