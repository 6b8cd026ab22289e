// SPDX-License-Identifier: Apache-2.0
// Layer normalization of rows: Ba, Kiros, Hinton, "Layer normalization", 2016. Moments are combined
// as in batch_norm.h; the gradients are about the mean as it was rounded to f32. Bits do not depend
// on the number of threads.
#pragma once

#include <cstdint>

#include "kernels/cpu/strip.h"

namespace narrowgauge::cpu {

struct RowLayout {
  std::int64_t rows = 0, columns = 0;
};

// y = (x - mean) * inverse_std * scale + bias over each row; scale and bias are [columns], and may
// be absent (1 and 0). mean and inverse_std, [rows], are not written where null.
struct LayerNormForward {
  RowLayout layout;
  ConstArray x;
  Array y;
  ConstArray scale{}, bias{};
  float epsilon = 1e-5F;
  float *mean = nullptr, *inverse_std = nullptr;
};
std::int64_t layer_norm_workspace(const RowLayout& layout);  // bytes
void layer_norm_forward(const LayerNormForward& norm, void* workspace);

// Outputs that are null are not computed.
struct LayerNormBackward {
  RowLayout layout;
  ConstArray dy, x, scale{};
  const float *mean = nullptr, *inverse_std = nullptr;
  Array dx{}, scale_gradient{}, bias_gradient{};
};
std::int64_t layer_norm_backward_workspace(const RowLayout& layout);  // bytes
void layer_norm_backward(const LayerNormBackward& norm, void* workspace);

}  // namespace narrowgauge::cpu
