// SPDX-License-Identifier: Apache-2.0
// How our training compares with torch's on the same network, weights and batch.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_run.h"
#include "cli/json.h"

namespace narrowgauge::cli {

// Torch's faster layout in the row's precision, or where it has none in its fastest; nullptr where
// torch did not run.
const BenchRow* torch_for(const BenchOutcome& outcome, const BenchRow& row);

std::string torch_table(const BenchOutcome& outcome);
std::vector<JsonObject> torch_json(const BenchOutcome& outcome);

// Throws CheckError where the losses of the first and the third step are not torch's: then the
// networks are not the same, and the times mean nothing. Not of networks with dropout, which draws
// other numbers.
void check_losses(const BenchOutcome& outcome);

}  // namespace narrowgauge::cli
