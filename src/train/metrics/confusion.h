// SPDX-License-Identifier: Apache-2.0
// Metrics that follow from how often each class was taken for which.
#pragma once

#include <functional>

#include "train/metrics/metric.h"

namespace narrowgauge {

// Counts of one class against all others. Scores that are not finite predict none.
struct ClassCounts {
  std::int64_t hits = 0;       // of the class and predicted
  std::int64_t labels = 0;     // of the class
  std::int64_t predicted = 0;  // as the class
  bool occurs() const { return labels + predicted > 0; }
};
ClassCounts counts_of(const ConfusionMatrix& matrix, std::int64_t c);

// The metric that `summary` makes of the matrix over all batches; its value is NaN where a batch
// has no classes, or none of its labels count.
BeginMetric of_confusion(std::function<MetricResult(const ConfusionMatrix&)> summary);

// A value for each class; NaN for those that neither occur nor are predicted, as in scikit-learn's
// means.
std::vector<double> for_each_class(const ConfusionMatrix& matrix,
                                   double (*value)(const ClassCounts&));

}  // namespace narrowgauge
