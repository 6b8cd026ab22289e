// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/confusion.h"

#include <algorithm>

#include "train/metrics/labels.h"

namespace narrowgauge {
namespace {

class OfConfusion : public MetricAccumulator {
 public:
  explicit OfConfusion(std::function<MetricResult(const ConfusionMatrix&)> summary)
      : summary_(std::move(summary)) {}

  void add(const MetricBatch& batch) override {
    const std::int64_t classes = classes_of(batch);
    fits_ = fits_ && classes > 0 && (matrix_.classes == 0 || matrix_.classes == classes);
    if (!fits_) return;
    if (matrix_.classes == 0) begin(classes);
    for_each_label(batch, [&](const LabeledScores& each) {
      ++labels_;
      ++(each.finite ? matrix_.counts[index(each.label * classes + each.predicted())]
                     : matrix_.not_finite[index(each.label)]);
    });
  }

  MetricResult result() const override {
    return fits_ && labels_ > 0 ? summary_(matrix_) : MetricResult{};
  }

 private:
  static std::size_t index(std::int64_t place) { return static_cast<std::size_t>(place); }
  void begin(std::int64_t classes) {
    matrix_.classes = classes;
    matrix_.counts.resize(index(classes * classes));
    matrix_.not_finite.resize(index(classes));
  }

  std::function<MetricResult(const ConfusionMatrix&)> summary_;
  ConfusionMatrix matrix_;
  std::int64_t labels_ = 0;
  bool fits_ = true;
};

// The whole matrix, and the share of labels on its diagonal.
MetricResult whole(const ConfusionMatrix& matrix) {
  double hits = 0, labels = 0;
  for (std::int64_t c = 0; c < matrix.classes; ++c) {
    const ClassCounts counts = counts_of(matrix, c);
    hits += static_cast<double>(counts.hits);
    labels += static_cast<double>(counts.labels);
  }
  return {.value = hits / labels, .confusion = matrix};
}

BeginMetric make_confusion(std::string_view word) {
  return word == "confusion" ? of_confusion(whole) : BeginMetric();
}

}  // namespace

ClassCounts counts_of(const ConfusionMatrix& matrix, std::int64_t c) {
  ClassCounts counts{.hits = matrix.at(c, c),
                     .labels = matrix.not_finite[static_cast<std::size_t>(c)]};
  for (std::int64_t other = 0; other < matrix.classes; ++other) {
    counts.labels += matrix.at(c, other);
    counts.predicted += matrix.at(other, c);
  }
  return counts;
}

BeginMetric of_confusion(std::function<MetricResult(const ConfusionMatrix&)> summary) {
  return [summary = std::move(summary)] { return std::make_unique<OfConfusion>(summary); };
}

std::vector<double> for_each_class(const ConfusionMatrix& matrix,
                                   double (*value)(const ClassCounts&)) {
  std::vector<double> values;
  for (std::int64_t c = 0; c < matrix.classes; ++c) {
    const ClassCounts counts = counts_of(matrix, c);
    values.push_back(counts.occurs() ? value(counts) : NAN);
  }
  return values;
}

}  // namespace narrowgauge

NG_METRIC(confusion, "confusion",
          "which classes are taken for which, and the share on the diagonal", true, Better::higher,
          make_confusion)
