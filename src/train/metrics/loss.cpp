// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

PartialMean losses(const MetricBatch& batch) {
  const auto samples = static_cast<double>(batch.samples);
  return {batch.loss * samples, samples};
}

BeginMetric make(std::string_view word) { return word == "loss" ? mean_of(losses) : BeginMetric(); }

}  // namespace
}  // namespace narrowgauge

NG_METRIC(loss, "loss", "what training minimizes", false, Better::lower, make)
