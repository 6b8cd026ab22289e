// SPDX-License-Identifier: Apache-2.0
// Intersection over union (Jaccard's index) over all labels of an evaluation.
#include "train/metrics/confusion.h"

namespace narrowgauge {
namespace {

double iou(const ClassCounts& counts) {
  return static_cast<double>(counts.hits) /
         static_cast<double>(counts.labels + counts.predicted - counts.hits);
}

// The intersection over the union of whatever is not class 0, as one class.
MetricResult foreground(const ConfusionMatrix& matrix) {
  ClassCounts counts;
  for (std::int64_t c = 1; c < matrix.classes; ++c) {
    const ClassCounts each = counts_of(matrix, c);
    counts.labels += each.labels;
    counts.predicted += each.predicted;
    for (std::int64_t other = 1; other < matrix.classes; ++other)
      counts.hits += matrix.at(c, other);
  }
  return {.value = counts.occurs() ? iou(counts) : NAN};
}

BeginMetric make_iou(std::string_view word) {
  if (word == "iou_foreground") return of_confusion(foreground);
  const ByClass wanted = by_class(word, "iou");
  if (!wanted.matches) return {};
  return of_confusion([wanted](const ConfusionMatrix& matrix) {
    const std::vector<double> each = for_each_class(matrix, iou);
    return MetricResult{.value = mean_of_known(each),
                        .by_class = wanted.asked ? each : std::vector<double>()};
  });
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(iou, "iou",
          "mean of the classes' intersection over union; iou_by_class adds each; "
          "iou_foreground: of all but class 0",
          true, Better::higher, make_iou)
