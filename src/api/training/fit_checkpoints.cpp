// SPDX-License-Identifier: Apache-2.0
#include "api/training/fit_checkpoints.h"

#include <cmath>

namespace narrowgauge {
namespace {

void check_checkpoints(const CheckpointOptions& options) {
  require(options.every_steps >= 0 && options.every_epochs >= 0,
          "checkpoints: every_steps and every_epochs must be at least 0, got ", options.every_steps,
          " and ", options.every_epochs);
  require(std::isfinite(options.every_seconds) && options.every_seconds >= 0,
          "checkpoints: every_seconds must be a number from 0 on, got ", options.every_seconds);
  require(options.keep >= 1, "checkpoints: keep must be at least 1, got ", options.keep);
}

}  // namespace

FitCheckpoints::FitCheckpoints(const Trainer& trainer, const CheckpointOptions& options,
                               Write write)
    : trainer_(trainer),
      options_(options),
      write_(std::move(write)),
      every_epochs_(options.every_epochs) {
  check_checkpoints(options);
  if (options.every_steps == 0 && options.every_seconds == 0 && every_epochs_ == 0)
    every_epochs_ = 1;
  folder_ = options.locked;
  if (!folder_ && !options.folder.empty())
    folder_ = std::make_shared<CheckpointFolder>(options.folder);
}

std::string FitCheckpoints::after_step() {
  if (!may_save()) return "";
  const std::chrono::duration<double> passed = Clock::now() - last_time_;
  const bool by_steps = options_.every_steps > 0 && steps() % options_.every_steps == 0;
  const bool by_time = options_.every_seconds > 0 && passed.count() >= options_.every_seconds;
  return by_steps || by_time ? save() : "";
}

// A checkpoint of the same step does not know the verdict yet.
std::string FitCheckpoints::after_epoch(std::int64_t epoch, Verdict verdict) {
  const bool by_epochs = every_epochs_ > 0 && (epoch + 1) % every_epochs_ == 0;
  const bool is_best = options_.best && verdict == Verdict::best;
  const bool outdated = verdict != Verdict::none && !last_.empty() && last_steps_ == steps();
  const bool saves = outdated || (may_save() && (by_epochs || is_best));
  if (!saves) return "";
  save(is_best);
  if (is_best) folder_->mark_best(last_);
  return last_;
}

std::string FitCheckpoints::at_end(bool stopped) {
  if (!folder_ || (!last_.empty() && last_steps_ == steps())) return "";
  return stopped && !may_save() ? "" : save();
}

// A run that never changes the weights leaves earlier checkpoints as they are.
bool FitCheckpoints::may_save() const {
  return folder_ && (last_.empty() || last_steps_ != steps()) && trainer_.applied_steps() > 0;
}

std::string FitCheckpoints::save(bool best) {
  last_ = write_(*folder_, best);
  last_steps_ = steps();
  last_time_ = Clock::now();
  return last_;
}

}  // namespace narrowgauge
