// SPDX-License-Identifier: Apache-2.0
// The numbers of each layer of a network against the ranges of narrow formats: of its weights, and
// for a batch of its results and of all gradients.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "narrowgauge/format_census.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

// Magnitudes of finite numbers other than 0, and what f16 and bf16 make of them.
struct ValueRange {
  ValueRange();
  void add(const Tensor& values, double scale = 1);  // each value times `scale`

  bool is_empty() const { return largest == 0; }  // there are none
  const FormatFates& f16() const { return census.rows()[0]; }
  const FormatFates& bf16() const { return census.rows()[1]; }
  double smallest = 0, largest = 0;
  FormatCensus census;
};

// A node of the network that reads parameters.
struct LayerRanges {
  std::string name, op;            // of the node
  ValueRange weights;              // of all parameters that it reads
  ValueRange activations;          // of its first output
  ValueRange output_gradients;     // of the loss with respect to that output, times the scale
  ValueRange parameter_gradients;  // with respect to these parameters, times the scale
};

// The layers in their order. The graph of training (batch statistics, dropout) is computed in f32
// at the model's weights. The batch holds the network's inputs, then the loss's; without one only
// weights are looked at. No state changes. Throws UsageError if the tensors do not fit.
std::vector<LayerRanges> layer_ranges(Model& model, const Loss& loss, std::span<const Tensor> batch,
                                      double gradient_scale);

}  // namespace narrowgauge
