// SPDX-License-Identifier: Apache-2.0
#include "cli/metrics.h"

#include <fmt/format.h>

#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/described.h"
#include "cli/flags.h"
#include "train/metrics/metric.h"

namespace narrowgauge::cli {

void add_metrics(CLI::App& app, std::vector<std::string>& target) {
  add_list(app, {"--metrics", "M,..", "of the test, also; " + described(metrics())}, target);
}

std::string metric_text(const MetricValue& metric) {
  const bool is_share = find_metric(metric.name).metric->is_share;
  return is_share ? percent_text(metric.value) : number_text(metric.value);
}

void print_metrics(const Evaluation& evaluation) {
  for (const MetricValue& metric : evaluation.metrics)
    print(fmt::format("test {:<11}{}\n", metric.name, metric_text(metric)));
}

void add_metrics(JsonObject& json, const Evaluation& evaluation) {
  for (const MetricValue& metric : evaluation.metrics)
    json.add("test_" + metric.name, metric.value);
}

}  // namespace narrowgauge::cli
