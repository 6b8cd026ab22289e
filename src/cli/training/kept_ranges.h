// SPDX-License-Identifier: Apache-2.0
// Ranges for int8 that a training keeps in its checkpoints, so that `convert` needs no samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/task/run_folder.h"
#include "cli/task/settings.h"
#include "cli/task/task.h"

namespace narrowgauge::cli {

// The file of the ranges in the checkpoint that a run was read from; nothing where there is none.
std::optional<std::string> kept_ranges(const Run& run);

// Throws UsageError where int8 needs no ranges of the network. For before a training.
void require_needs_ranges(const Settings& settings, const Task& task);

// Gathers the ranges with the weights of the newest checkpoint and of the best one, from samples of
// the training set without augmentation, and adds them to these checkpoints. Returns of how many
// samples they are; nothing where a signal interrupted it.
std::optional<std::int64_t> keep_ranges(const std::string& folder, const Settings& settings,
                                        const Task& task, bool quiet);

}  // namespace narrowgauge::cli
