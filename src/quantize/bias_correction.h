// SPDX-License-Identifier: Apache-2.0
// Rounded weights shift the mean of what a layer computes; a bias can take that back (Nagel et al.,
// Data-Free Quantization Through Weight Equalization and Bias Correction, 2019, section 4.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Where the channels of a weight tensor are. The other axes are taps of a window. Conv and Gemm
// with transB have those given here, MatMul and Gemm {.output = 1, .input = 0}.
struct WeightAxes {
  int output = 0, input = 1;
  std::int64_t groups = 1;  // more only with the axes given here
};

// The shift of each output channel, -sum of (rounded - weight) * mean over input channels and taps,
// where `means` are those of the layer's input, channel by channel. Zeros that pad the input do not
// count: next to a border the shift is too large. Throws UsageError where the sizes do not fit.
std::vector<double> bias_shift(const Tensor& weights, const Tensor& rounded,
                               std::span<const double> means, const WeightAxes& axes = {});
// f32 [output channels]: a bias plus the shift, rounded once. A bias without elements is none.
Tensor corrected_bias(const Tensor& bias, std::span<const double> shift);

}  // namespace narrowgauge
