// SPDX-License-Identifier: Apache-2.0
// Metrics beside loss and accuracy: the flag that asks for them, and how they are shown.
#pragma once

#include <string>
#include <vector>

#include "cli/common/json.h"
#include "narrowgauge/model.h"

namespace CLI {
class App;
}  // namespace CLI

namespace narrowgauge::cli {

void add_metrics(CLI::App& app, std::vector<std::string>& target);

std::string metric_text(const MetricValue& metric);  // "99.35 %" of a share, else a number
void print_metrics(const Evaluation& evaluation);    // a line for each
void add_metrics(JsonObject& json, const Evaluation& evaluation);  // {"test_top5": 0.9935}

}  // namespace narrowgauge::cli
