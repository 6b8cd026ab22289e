// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace narrowgauge {
namespace {

bool is_real(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64;
}

Tensor as_floats(const Tensor& tensor) {
  return tensor.dtype() == DType::f32 ? tensor : tensor.cast(DType::f32);
}

// [N, classes, ...] with [N, ...]
bool has_classes(const Tensor& prediction, const Tensor& target) {
  Dims dims = prediction.dims();
  if (!is_integer(target.dtype()) || dims.size() < 2 || dims[1] < 1) return false;
  dims.erase(dims.begin() + 1);
  return dims == target.dims();
}

bool is_yes_or_no(const Tensor& prediction, const Tensor& target) {
  if (!is_real(target.dtype()) || target.dims() != prediction.dims()) return false;
  const Tensor floats = as_floats(target);
  return std::ranges::all_of(floats.values<float>(), [](float y) { return y == 0 || y == 1; });
}

void visit_classes(const MetricBatch& batch, FunctionRef<void(const LabeledScores&)> visit) {
  const Tensor floats = as_floats(batch.prediction);
  const std::span<const float> scores = floats.values<float>();
  const Tensor whole = labels_as_i64(batch.target);
  const auto labels = whole.values<std::int64_t>();
  const auto classes = static_cast<std::size_t>(batch.prediction.dims()[1]);
  const auto samples = static_cast<std::size_t>(batch.prediction.dims()[0]);
  const std::size_t places = samples > 0 ? labels.size() / samples : 0;
  std::vector<float> gathered(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t label = labels[i];
    if (label < 0 || label >= std::ssize(gathered) || label == batch.ignored) continue;
    const std::size_t first = i / places * classes * places + i % places;
    for (std::size_t c = 0; c < classes; ++c) gathered[c] = scores[first + c * places];
    const bool finite = std::ranges::all_of(gathered, [](float s) { return std::isfinite(s); });
    visit({gathered, label, finite});
  }
}

void visit_logits(const MetricBatch& batch, FunctionRef<void(const LabeledScores&)> visit) {
  const Tensor logits = as_floats(batch.prediction), target = as_floats(batch.target);
  for (std::size_t i = 0; i < logits.values<float>().size(); ++i) {
    const float logit = logits.values<float>()[i];
    const std::array<float, 2> scores{0, logit};
    const std::int64_t label = target.values<float>()[i] == 1;
    if (label != batch.ignored) visit({scores, label, std::isfinite(logit)});
  }
}

}  // namespace

Tensor labels_as_i64(const Tensor& labels) {
  return labels.dtype() == DType::i64 ? labels : labels.cast(DType::i64);
}

std::int64_t LabeledScores::predicted() const {
  return std::ranges::max_element(scores) - scores.begin();
}

std::int64_t classes_of(const MetricBatch& batch) {
  if (!is_real(batch.prediction.dtype())) return 0;
  if (has_classes(batch.prediction, batch.target)) return batch.prediction.dims()[1];
  return is_yes_or_no(batch.prediction, batch.target) ? 2 : 0;
}

bool for_each_label(const MetricBatch& batch, FunctionRef<void(const LabeledScores&)> visit) {
  if (classes_of(batch) == 0) return false;
  if (is_integer(batch.target.dtype()))
    visit_classes(batch, visit);
  else
    visit_logits(batch, visit);
  return true;
}

}  // namespace narrowgauge
