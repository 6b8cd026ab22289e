// SPDX-License-Identifier: Apache-2.0
// What `bench` prints: tables of 80 columns, or JSON.
#pragma once

#include <string>

#include "cli/bench_run.h"
#include "cli/json.h"

namespace narrowgauge::cli {

std::string rate_with_interval(const BenchRow& row);  // "1,532 +- 30", "12.8 +- 0.3"
std::string speed_table(const std::vector<BenchRow>& rows);
std::string memory_table(const std::vector<BenchRow>& rows);
// How it was measured, and what is to be known of it; each a line.
std::vector<std::string> bench_remarks(const BenchTask& task, const BenchOutcome& outcome);

std::string bench_picture(const BenchTask& task, const BenchOutcome& outcome);  // an SVG

// The last line: {"event":"done",...,"runs":[...]}.
JsonObject outcome_json(const BenchTask& task, const BenchOutcome& outcome);

}  // namespace narrowgauge::cli
