// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/labels.h"
#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

PartialMean right(const MetricBatch& batch) {
  PartialMean part;
  for_each_label(batch, [&](const LabeledScores& each) {
    ++part.count;
    part.sum += each.finite && each.predicted() == each.label;
  });
  return part;
}

BeginMetric make(std::string_view word) {
  return word == "accuracy" ? mean_of(right) : BeginMetric();
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(accuracy, "accuracy", "labels whose class has the highest score", true, Better::higher,
          make)
