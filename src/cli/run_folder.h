// SPDX-License-Identifier: Apache-2.0
// The folder of a run (include/narrowgauge/checkpoint.h) and the program's own file in each
// checkpoint: run.json, with the settings and how images are transformed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/checkpoint_folder.h"
#include "cli/settings.h"
#include "cli/task.h"
#include "narrowgauge/checkpoint.h"

namespace narrowgauge::cli {

struct RunRecord {
  Settings settings;
  std::optional<ImageFacts> images;  // nothing: samples are taken as they are
  std::optional<DataFacts> facts;    // of settings.data; nothing: an earlier version's
};

// A run as it was at its newest whole checkpoint.
struct Run {
  RunRecord record;
  Checkpoint checkpoint;

  std::string file(const char* name) const;                 // its path, for messages
  std::optional<std::string> text(const char* name) const;  // of one of the checkpoint's files
};

inline constexpr const char* run_file = "run.json";
inline constexpr const char* network_file = "network.onnx";  // in the folder of a run: as it began

// Throws DataError when there is no such run, or its record is damaged.
Run read_run(const std::string& folder);
std::string run_text(const RunRecord& record);

// Makes and locks the folder: better to fail before training than after it.
std::shared_ptr<CheckpointFolder> open_run_folder(const std::string& folder,
                                                  const Settings& settings);

}  // namespace narrowgauge::cli
