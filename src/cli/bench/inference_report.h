// SPDX-License-Identifier: Apache-2.0
// What `bench --inference` prints: a table of 80 columns, JSON, or bars.
#pragma once

#include <string>

#include "cli/bench/inference.h"
#include "cli/common/json.h"

namespace narrowgauge::cli {

std::string inference_status_text(const InferenceRow& row, std::int64_t round);
std::string inference_table(const InferenceOutcome& outcome);
// How the times were measured and what is missing, one remark a line.
std::string inference_remarks(const InferenceTask& task, const InferenceOutcome& outcome);
std::string inference_picture(const InferenceOutcome& outcome);  // an SVG
// {"event":"done",...,"rows":[...]}.
JsonObject inference_json(const InferenceOutcome& outcome);

}  // namespace narrowgauge::cli
