// SPDX-License-Identifier: Apache-2.0
// What an evaluation measures. Each metric is a stem in this folder that the build finds by its
// mark.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/parallel.h"
#include "base/stem_table.h"
#include "narrowgauge/metrics.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

struct MetricBatch {
  const Tensor& prediction;  // [samples, ...]
  const Tensor& target;      // [samples, ...]
  double loss = 0;           // mean over the batch
  std::int64_t samples = 0;
};

// The sum of a metric over the samples of a batch. The metric is the mean over all samples.
using MetricSum = std::function<double(const MetricBatch&)>;

struct Metric {
  std::string_view name, help;               // name: as in a list of choices
  bool is_share = false;                     // of the samples, from 0 to 1
  MetricSum (*make)(std::string_view word);  // empty if the word means another metric
};

std::vector<const Metric*> metrics();

// A metric that was asked for by a word such as "accuracy".
struct ChosenMetric {
  const Metric* metric = nullptr;
  MetricSum sum;
};
// Throws UsageError naming the metrics there are.
ChosenMetric find_metric(std::string_view word);

// Counts the samples with finite scores [classes] for which `right` holds; 0 where predictions are
// no f32 scores [samples, classes] or targets are no classes i64 [samples].
double count_samples(const MetricBatch& batch,
                     FunctionRef<bool(std::span<const float> scores, std::int64_t wanted)> right);

}  // namespace narrowgauge

// NG_METRIC(stem, name, help, is_share, make) enters a metric.
#define NG_METRIC(stem, ...) NG_STEM(metric_table, Metric, stem, __VA_ARGS__)
