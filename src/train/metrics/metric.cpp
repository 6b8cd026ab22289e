// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/metric.h"

#include <algorithm>
#include <cmath>

#include "narrowgauge/error.h"

namespace narrowgauge {

std::string metric_help() { return listed_names(metrics()); }

ChosenMetric find_metric(std::string_view word) {
  for (const Metric* metric : metrics())
    if (MetricSum sum = metric->make(word)) return {metric, std::move(sum)};
  throw UsageError(concat("metric: expected one of ", metric_help(), ", got '", word, '\''));
}

double count_samples(const MetricBatch& batch,
                     FunctionRef<bool(std::span<const float> scores, std::int64_t wanted)> right) {
  const bool wide = batch.prediction.dtype() == DType::f64;
  const Tensor prediction = wide ? batch.prediction.cast(DType::f32) : batch.prediction;
  const Tensor& target = batch.target;
  const bool scored =
      prediction.dtype() == DType::f32 && prediction.dims().size() == 2 && prediction.dims()[1] > 0;
  const bool classes = target.dtype() == DType::i64 && target.dims().size() == 1;
  if (!scored || !classes || target.dims()[0] != prediction.dims()[0]) return 0;
  const auto scores = prediction.values<float>();
  const auto wanted = target.values<std::int64_t>();
  const auto width = static_cast<std::size_t>(prediction.dims()[1]);
  std::int64_t count = 0;
  for (std::size_t row = 0; row < wanted.size(); ++row) {
    const auto of_row = scores.subspan(row * width, width);
    const bool finite = std::ranges::all_of(of_row, [](float s) { return std::isfinite(s); });
    count += finite && right(of_row, wanted[row]);
  }
  return static_cast<double>(count);
}

}  // namespace narrowgauge
