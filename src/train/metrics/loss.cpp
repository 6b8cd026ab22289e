// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "train/metrics/labels.h"
#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

// How much of a batch the loss is the mean of: all samples, or of labels that count their share.
double weight_of(const MetricBatch& batch) {
  const auto samples = static_cast<double>(batch.samples);
  if (!batch.ignored || !is_integer(batch.target.dtype()) || batch.target.size() == 0)
    return samples;
  const Tensor whole = labels_as_i64(batch.target);
  const auto labels = whole.values<std::int64_t>();
  const auto ignored = static_cast<double>(std::ranges::count(labels, *batch.ignored));
  return samples * (1 - ignored / static_cast<double>(labels.size()));
}

PartialMean losses(const MetricBatch& batch) {
  const double weight = weight_of(batch);
  return {weight > 0 ? batch.loss * weight : 0, weight};
}

BeginMetric make_loss(std::string_view word) {
  return word == "loss" ? mean_of(losses) : BeginMetric();
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(loss, "loss", "what training minimizes", false, Better::lower, make_loss)
