// SPDX-License-Identifier: Apache-2.0
// What the program answers in JSON.
#pragma once

#include "cli/program.h"
#include "support/json.h"

namespace narrowgauge::testing_cli {

// The last line of a run that must succeed.
testing_json::Json done(const Words& words, const Surroundings& surroundings = {});

}  // namespace narrowgauge::testing_cli
