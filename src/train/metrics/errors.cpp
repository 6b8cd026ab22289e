// SPDX-License-Identifier: Apache-2.0
// Means over all elements of predictions that have the shape of their targets.
#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

class MeanError : public MetricAccumulator {
 public:
  explicit MeanError(double (*error)(double difference)) : error_(error) {}
  void add(const MetricBatch& batch) override {
    const std::int64_t size = batch.prediction.size();
    const Dims& dims = batch.target.dims();
    // Labels of classes say nothing of the distance between them.
    fits_ = fits_ && dims == batch.prediction.dims() && batch.target.dtype() != DType::i64;
    if (!fits_) return;
    for (std::int64_t i = 0; i < size; ++i)
      sum_ += error_(batch.prediction.at(i) - batch.target.at(i));
    count_ += static_cast<double>(size);
  }
  MetricResult result() const override {
    return {.value = fits_ && count_ > 0 ? sum_ / count_ : NAN};
  }

 private:
  double (*error_)(double);
  double sum_ = 0, count_ = 0;
  bool fits_ = true;
};

double squared(double difference) { return difference * difference; }
double absolute(double difference) { return std::abs(difference); }

BeginMetric make_errors(std::string_view word) {
  if (word != "mse" && word != "mae") return {};
  return
      [error = word == "mse" ? squared : absolute] { return std::make_unique<MeanError>(error); };
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(errors, "mse, mae", "mean squared, mean absolute error", false, Better::lower,
          make_errors)
