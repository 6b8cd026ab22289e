// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

double count_right(const MetricBatch& batch) {
  return count_samples(batch, [](std::span<const float> scores, std::int64_t wanted) {
    return std::ranges::max_element(scores) - scores.begin() == wanted;
  });
}

MetricSum make(std::string_view word) {
  return word == "accuracy" ? MetricSum(count_right) : MetricSum();
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(accuracy, "accuracy", "samples whose highest score is of the right class", true, make)
