// SPDX-License-Identifier: Apache-2.0
// What an evaluation measures. Each metric is a stem in this folder that the build finds by its
// mark.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/stem_table.h"
#include "narrowgauge/metrics.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Makes what adds up a metric; empty where a word means another metric.
using BeginMetric = std::function<std::unique_ptr<MetricAccumulator>()>;

struct Metric {
  std::string_view name, help;                 // name: as in a list of choices
  bool is_share = false;                       // from 0 to 1
  Better better = Better::higher;              // which values are
  BeginMetric (*make)(std::string_view word);  // empty if the word means another metric
};

std::vector<const Metric*> metrics();

// A metric that was asked for by a word such as "accuracy".
struct ChosenMetric {
  const Metric* metric = nullptr;
  BeginMetric begin;
};
// Throws UsageError naming the metrics there are.
ChosenMetric find_metric(std::string_view word);

// A sum over a batch, and what to divide it by.
struct PartialMean {
  double sum = 0, count = 0;
};
// The metric that is the mean over all batches; 0 without anything to count.
BeginMetric mean_of(std::function<PartialMean(const MetricBatch&)> part);

// Whether `word` is `name`, or `name` with "_by_class" behind it, which asks for `by_class` too.
struct ByClass {
  bool matches = false, asked = false;
};
ByClass by_class(std::string_view word, std::string_view name);
// The mean of the values that are not NaN; NaN where all are.
double mean_of_known(const std::vector<double>& values);

}  // namespace narrowgauge

// NG_METRIC(stem, name, help, is_share, better, make) enters a metric.
#define NG_METRIC(stem, ...) NG_STEM(metric_table, Metric, stem, __VA_ARGS__)
