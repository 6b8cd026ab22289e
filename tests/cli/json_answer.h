// SPDX-License-Identifier: Apache-2.0
// What the program answers in JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace narrowgauge::testing_cli {

// The last line of a run that must succeed.
nlohmann::json done(const Words& words, const Surroundings& surroundings = {});

}  // namespace narrowgauge::testing_cli
