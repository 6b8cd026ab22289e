// SPDX-License-Identifier: Apache-2.0
// Trains in several formats from one seed and shows the results side by side.
#pragma once

#include <string>
#include <vector>

#include "cli/progress/progress.h"
#include "cli/task/settings.h"
#include "cli/training/training.h"

namespace narrowgauge::cli {

// IEEE's f32, f32 as it is fastest here, and the formats of --amp.
inline const std::vector<std::string> compare_words{"ieee", "off", "f16", "bf16", "auto"};

int run_compare(const TrainFlags& flags, Settings settings);

// A table in 80 columns, whatever the numbers; below it remarks about the runs, line by line.
std::string comparison_table(const std::vector<TrainingOutcome>& outcomes,
                             const ResultWords& told = {});
std::vector<std::string> comparison_remarks(const std::vector<TrainingOutcome>& outcomes,
                                            const ResultWords& told = {});

// Why a run in a narrow format was no faster than one in f32, from the kernels that ran.
std::string why_not_faster(const TrainingOutcome& narrow);

}  // namespace narrowgauge::cli
