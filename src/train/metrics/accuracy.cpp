// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "train/metrics/labels.h"
#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

PartialMean right(const MetricBatch& batch) {
  PartialMean part;
  const bool has_classes = for_each_label(batch, [&](const LabeledScores& each) {
    ++part.count;
    part.sum += each.finite && each.predicted() == each.label;
  });
  return has_classes ? part : PartialMean{std::numeric_limits<double>::quiet_NaN(), 1};
}

BeginMetric make_accuracy(std::string_view word) {
  return word == "accuracy" ? mean_of(right) : BeginMetric();
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(accuracy, "accuracy", "labels whose class has the highest score", true, Better::higher,
          make_accuracy)
