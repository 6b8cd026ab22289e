// SPDX-License-Identifier: Apache-2.0
// Trains in several formats from one seed, and shows side by side what became of each.
#pragma once

#include <string>

#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/training.h"

namespace narrowgauge::cli {

int run_compare(const TrainFlags& flags, const Settings& settings, ReportStyle style);

// Why a run in a narrow format was no faster than in f32, from the kernels that ran.
std::string why_not_faster(const Outcome& narrow);

}  // namespace narrowgauge::cli
