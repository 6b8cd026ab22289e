// SPDX-License-Identifier: Apache-2.0
// The harmonic mean of precision and recall: 2 hits / (labels + predicted).
#include "train/metrics/confusion.h"

namespace narrowgauge {
namespace {

double f1(const ClassCounts& counts) {
  return 2 * static_cast<double>(counts.hits) /
         static_cast<double>(counts.labels + counts.predicted);
}

// F1 of the counts of all classes together.
MetricResult micro(const ConfusionMatrix& matrix) {
  ClassCounts all;
  for (std::int64_t c = 0; c < matrix.classes; ++c) {
    const ClassCounts counts = counts_of(matrix, c);
    all.hits += counts.hits;
    all.labels += counts.labels;
    all.predicted += counts.predicted;
  }
  return {.value = f1(all)};
}

BeginMetric make_f1(std::string_view word) {
  if (word == "f1_micro") return of_confusion(micro);
  const ByClass wanted = by_class(word, "f1");
  if (!wanted.matches) return {};
  return of_confusion([wanted](const ConfusionMatrix& matrix) {
    const std::vector<double> each = for_each_class(matrix, f1);
    return MetricResult{.value = mean_of_known(each),
                        .by_class = wanted.asked ? each : std::vector<double>()};
  });
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(f1, "f1", "mean of the classes' F1; f1_by_class adds each; f1_micro counts labels alike",
          true, Better::higher, make_f1)
