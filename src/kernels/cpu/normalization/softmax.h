// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax along one axis, their gradients, and softmax cross entropy fused with
// them. The largest value is subtracted first; NaN results from a NaN or from -inf alone.
#pragma once

#include <cstdint>

#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

// Element (o, a, i) lies at (o * axis + a) * inner + i.
struct AxisLayout {
  std::int64_t outer = 1;
  std::int64_t axis = 1;
  std::int64_t inner = 1;
  std::int64_t size() const { return outer * axis * inner; }
};

enum class SoftmaxKind : std::uint8_t { softmax, log_softmax };

void softmax_forward(SoftmaxKind kind, const AxisLayout& layout, ConstArray x, const Array& y);
// dx = y * (dy - sum(dy * y)), or dy - exp(y) * sum(dy) for log_softmax. In place is allowed.
void softmax_backward(SoftmaxKind kind, const AxisLayout& layout, ConstArray y, ConstArray dy,
                      const Array& dx);

// Labels and losses are [outer, inner]; a label is a class in [0, axis) or `ignored`.
struct CrossEntropy {
  AxisLayout layout;
  const std::int64_t* labels = nullptr;
  const float* weights = nullptr;  // per class; null: 1
  bool ignores = false;
  std::int64_t ignored = 0;
};

// loss = -weight[label] * log_softmax(logits)[label], 0 where the label is ignored.
// log_probabilities and row_weights (weight[label], 0 where ignored) may be absent.
struct CrossEntropyForward {
  CrossEntropy common;
  ConstArray logits;
  float* loss = nullptr;
  float* row_weights = nullptr;
  Array log_probabilities{};
};
void cross_entropy_forward(const CrossEntropyForward& forward);  // DataError: label out of range

// dlogits = (softmax - one_hot(label)) * weight[label] * loss_gradient * factor.
struct CrossEntropyBackward {
  CrossEntropy common;
  ConstArray logits;
  const float* loss_gradient = nullptr;  // [outer, inner], or one number for all
  bool one_loss_gradient = false;
  float factor = 1.0F;
  Array logits_gradient;
};
void cross_entropy_backward(const CrossEntropyBackward& backward);

}  // namespace narrowgauge::cpu
