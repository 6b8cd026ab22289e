// SPDX-License-Identifier: Apache-2.0
// The folder of a run (include/narrowgauge/checkpoint.h) and the program's own file in each
// checkpoint: run.json, with the settings and how images are transformed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/runs/checkpoint_folder.h"
#include "cli/task/settings.h"
#include "cli/task/task.h"
#include "narrowgauge/checkpoint.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

struct RunRecord {
  Settings settings;
  std::optional<ImageFacts> images;  // nothing: samples are taken as they are
  std::optional<DataFacts> facts;    // of settings.data; nothing: an earlier version's

  bool is_text() const;  // whether the network is a language model
};

// A run as it was at its newest whole checkpoint.
struct Run {
  RunRecord record;
  Checkpoint checkpoint;

  std::string file(const char* name) const;                 // its path, for messages
  std::optional<std::string> text(const char* name) const;  // of one of the checkpoint's files
};

inline constexpr const char* run_file = "run.json";

// Which checkpoint a run was read from.
struct TakenCheckpoint {
  std::string path;
  std::int64_t step = -1;               // after which it was written; -1: without a state
  bool best = false, has_best = false;  // whether it is the best; whether the run keeps a best one
};
TakenCheckpoint taken_of(const Run& run);

// Throws DataError when there is no such run, or its record is damaged.
Run read_run(const std::string& folder);
std::string run_text(const RunRecord& record);

// Makes and locks the folder: better to fail before training than after it.
std::shared_ptr<CheckpointFolder> open_run_folder(const std::string& folder,
                                                  const Settings& settings);

// Adds the best checkpoint of a run to another folder in which the run goes on, and lets RUN/best
// lead there. None that is later than the checkpoint from which the run goes on.
void take_best(const Run& resumed, const std::string& from, const CheckpointOptions& to);

}  // namespace narrowgauge::cli
