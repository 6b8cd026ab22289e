// SPDX-License-Identifier: Apache-2.0
// What `bench` prints: tables of 80 columns, or JSON.
#pragma once

#include <string>

#include "cli/bench/request.h"
#include "cli/common/json.h"

namespace narrowgauge::cli {

// Median and quartiles, "1,532 (1,490-1,560)", "12.8 (12.1-13.0)"; "-" without iterations.
std::string spread_text(const BenchRow& row);
std::string speed_table(const std::vector<BenchRow>& rows);
std::string memory_table(const std::vector<BenchRow>& rows);
// How the times were measured and what to know about them, one remark a line.
std::vector<std::string> bench_remarks(const BenchRequest& request, const BenchOutcome& outcome);

std::string bench_picture(const BenchRequest& request, const BenchOutcome& outcome);  // an SVG

// The last line: {"event":"done",...,"runs":[...]}.
JsonObject outcome_json(const BenchRequest& request, const BenchOutcome& outcome);

}  // namespace narrowgauge::cli
