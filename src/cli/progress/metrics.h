// SPDX-License-Identifier: Apache-2.0
// Metrics beside loss and accuracy: the flag that asks for them, and how they are shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/common/json.h"
#include "cli/flags/flags.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

Flag metrics_flag();
void add_metrics(CLI::App& app, std::vector<std::string>& target);

// "99.35 %" of a share, else a number; "-" where there is none.
std::string metric_text(const MetricValue& metric);
// How often a label was taken for another class.
struct ConfusedPair {
  std::int64_t label = 0, predicted = 0, count = 0;
};
std::vector<ConfusedPair> most_confused(const ConfusionMatrix& matrix);  // the most frequent first
// How often a label occurs, what is not finite included.
std::int64_t labels_of(const ConfusionMatrix& matrix, std::int64_t label);
// The matrix as a table, or the classes that are most often confused where it would be too wide; ""
// of an empty one.
std::string confusion_text(const ConfusionMatrix& matrix);
void print_metrics(const Evaluation& evaluation);                  // a line for each, and tables
void add_metrics(JsonObject& json, const Evaluation& evaluation);  // {"test_top5": 0.9935}

}  // namespace narrowgauge::cli
