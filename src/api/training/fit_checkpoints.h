// SPDX-License-Identifier: Apache-2.0
// When fit() writes checkpoints.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "api/runs/checkpoint_folder.h"
#include "api/training/metric_watch.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

// Each call writes a checkpoint if one is due, and returns its path or "".
class FitCheckpoints {
 public:
  using Write = std::function<std::string(CheckpointFolder&, bool best)>;
  // Locks the folder. Throws UsageError for options that make no sense.
  FitCheckpoints(const Trainer& trainer, const CheckpointOptions& options, Write write);

  std::string after_step();
  std::string after_epoch(std::int64_t epoch, Verdict verdict);
  std::string at_end(bool stopped);
  const std::string& last() const { return last_; }
  // Whether the best checkpoint is kept and there is none yet.
  bool lacks_best() const { return folder_ && options_.best && !folder_->has_best(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t steps() const { return trainer_.applied_steps() + trainer_.skipped_steps(); }
  bool may_save() const;
  std::string save(bool best = false);

  const Trainer& trainer_;
  const CheckpointOptions& options_;
  Write write_;
  std::int64_t every_epochs_;
  std::shared_ptr<CheckpointFolder> folder_;
  Clock::time_point last_time_ = Clock::now();
  std::int64_t last_steps_ = 0;
  std::string last_;
};

}  // namespace narrowgauge
