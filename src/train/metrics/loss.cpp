// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

double sum_of_losses(const MetricBatch& batch) {
  return batch.loss * static_cast<double>(batch.samples);
}

MetricSum make(std::string_view word) {
  return word == "loss" ? MetricSum(sum_of_losses) : MetricSum();
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(loss, "loss", "what training minimizes", false, make)
