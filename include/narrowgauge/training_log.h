// SPDX-License-Identifier: Apache-2.0
// Keeps what fit() reports: as event files for TensorBoard, as metrics.csv, or both.
//
//   TrainingLog log({.csv = "runs/lenet/metrics.csv", .events = "runs/lenet/events"});
//   trainer.fit(training, test, options, [&](const Progress& progress) {
//     log.add(progress);
//     return true;
//   });
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "narrowgauge/model.h"

namespace narrowgauge {

// What a TrainingLog keeps, and how often.
struct NG_API TrainingLogOptions {
  std::string csv{};              // path of the table; "": none
  std::string events{};           // folder of event files; "": none
  std::int64_t every_steps = 50;  // and at the end of each epoch
};

// Steps are counted over the whole run, so that a resumed training goes on where its checkpoint
// was. Rows and events hold loss (of the step), epoch_loss (mean over the epoch so far), gradient
// norm, learning rate, loss scale, skipped steps and samples a second; at the end of an epoch also
// the loss, accuracy and metrics of the test. Belongs to one thread at a time.
class NG_API TrainingLog {
 public:
  // Makes the file of events. Throws UsageError for every_steps below 1, DataError where the file
  // cannot be made.
  explicit TrainingLog(const TrainingLogOptions& options);
  ~TrainingLog();
  TrainingLog(TrainingLog&&) noexcept;             // the other throws UsageError when it is used
  TrainingLog& operator=(TrainingLog&&) noexcept;  // the same

  // Adds histograms of weights and gradients at the end of each epoch, where there are event files.
  // Shares both.
  void watch(const Model& model, Trainer& trainer);
  // Throws DataError where a file cannot be written.
  void add(const Progress& progress);
  // Renames the table, which goes on there (CsvLog::move_to). Nothing without one.
  void move_csv(const std::string& path);

 private:
  struct Implementation;
  Held<"training log", std::unique_ptr<Implementation>> implementation_;
};

}  // namespace narrowgauge
