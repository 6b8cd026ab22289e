// SPDX-License-Identifier: Apache-2.0
// How our training compares with torch's on the same network, weights and batch.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/run.h"
#include "cli/common/json.h"

namespace narrowgauge::cli {

// Torch's faster layout in the row's precision or, if it has none, in its fastest precision;
// nullptr if torch did not run.
const BenchRow* torch_for(const BenchOutcome& outcome, const BenchRow& row);

std::string torch_table(const BenchOutcome& outcome);
std::vector<JsonObject> torch_json(const BenchOutcome& outcome);

// Throws CheckError if the losses of the first and third step differ from torch's: then the
// networks are not the same and the times mean nothing. Skips networks with dropout, which draws
// different numbers.
void check_losses(const BenchOutcome& outcome);

}  // namespace narrowgauge::cli
