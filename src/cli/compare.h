// SPDX-License-Identifier: Apache-2.0
// Trains in several formats from one seed, and shows side by side what became of each.
#pragma once

#include <string>
#include <vector>

#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/training.h"

namespace narrowgauge::cli {

// IEEE's f32, f32 as it is fastest here, and formats as --amp has them.
inline const std::vector<std::string> compare_words{"ieee", "off", "f16", "bf16", "auto"};

int run_compare(const TrainFlags& flags, const Settings& settings);

// In 80 columns, whatever the figures; below it, line by line, what is to be known of the runs.
std::string comparison_table(const std::vector<Outcome>& outcomes);
std::vector<std::string> comparison_remarks(const std::vector<Outcome>& outcomes);

// Why a run in a narrow format was no faster than one in f32, from the kernels that ran.
std::string why_not_faster(const Outcome& narrow);

}  // namespace narrowgauge::cli
