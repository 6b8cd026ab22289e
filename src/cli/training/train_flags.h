// SPDX-License-Identifier: Apache-2.0
// The flags of `narrowgauge train`.
#pragma once

#include <optional>

#include "cli/config/config.h"
#include "cli/task/settings.h"

namespace narrowgauge::cli {

void add_train_flags(CLI::App& app, TrainFlags& flags);
// Throws UsageError for flags that do not go together.
void check_combinations(const TrainFlags& flags);

// What --dump-config adds to the flags that were given: those that, with these, make the same run.
SettledFlags settled_flags(const TrainFlags& flags, const Settings& settings);
// The settled flags with the batch that fits the data; where these cannot be read, it is left to
// the run.
SettledFlags settled_for_data(const TrainFlags& flags, Settings settings);

}  // namespace narrowgauge::cli
