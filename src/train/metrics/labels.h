// SPDX-License-Identifier: Apache-2.0
// Batches as scores of classes with a label each, whatever their shapes.
#pragma once

#include <cstdint>
#include <span>

#include "base/threads/parallel.h"
#include "narrowgauge/metrics.h"

namespace narrowgauge {

// Scores of one sample, pixel or token, and its label, which is one of the classes.
struct LabeledScores {
  std::span<const float> scores;  // one for each class; the highest is the prediction
  std::int64_t label = 0;
  bool finite = true;  // whether all scores are: what is not is never right

  std::int64_t predicted() const;  // of equal scores the first
};

Tensor labels_as_i64(const Tensor& labels);  // whole numbers of any format

// The classes of a batch; 0 where it has none. There are two kinds: scores [N, classes, ...] with
// labels [N, ...] of whole numbers, and logits of any shape whose targets, of the same shape, are
// all 0 or 1.
std::int64_t classes_of(const MetricBatch& batch);

// Visits the scores of all labels that are classes and not ignored; false, and no visit, for a
// batch without classes. A logit z is seen as the scores (0, z).
bool for_each_label(const MetricBatch& batch, FunctionRef<void(const LabeledScores&)> visit);

}  // namespace narrowgauge
