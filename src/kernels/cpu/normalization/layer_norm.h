// SPDX-License-Identifier: Apache-2.0
// Layer normalization of rows: Ba, Kiros, Hinton, "Layer normalization", 2016. Moments are combined
// as in batch_norm.h; the gradients use the mean as rounded to f32. Bits do not depend on the
// number of threads.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"
#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

struct RowLayout {
  std::int64_t rows = 0, columns = 0;
};

// What a transformer does to x before normalizing: drops some elements, as dropout() does, and adds
// `other`. `sum` receives what was normalized and `kept` which elements stayed, unless null.
struct ResidualSum {
  ConstArray other{};
  Array sum{};
  float keep = 1;
  RandomStream stream = RandomStream::of_key(0, 0);
  bool* kept = nullptr;
};

// y before it is rounded, as u8 or i8: y / scale to nearest even, moved by `zero` and saturated.
struct RowBytes {
  std::uint8_t* to = nullptr;
  DType dtype = DType::u8;
  float scale = 1;
  std::int32_t zero = 0;
};

// y = (x - mean) * inverse_std * scale + bias over each row; scale and bias are [columns], and may
// be absent (1 and 0). y, bytes, mean and inverse_std, [rows], are not written if null. With a
// ResidualSum, rows have at most `most_residual_columns` and its sum is normalized.
struct LayerNormForward {
  RowLayout layout;
  ConstArray x;
  Array y;
  ConstArray scale{}, bias{};
  float epsilon = 1e-5F;
  float *mean = nullptr, *inverse_std = nullptr;
  const ResidualSum* residual = nullptr;
  RowBytes bytes{};
};
inline constexpr std::int64_t most_residual_columns = 4096;
std::int64_t layer_norm_workspace(const RowLayout& layout);  // bytes
void layer_norm_forward(const LayerNormForward& norm, void* workspace);

// How a residual changes the gradients: up to three others (absent ones last) are added to dy, and
// `dropped` is dx * factor where `kept`, else 0.
struct ResidualGradient {
  std::array<ConstArray, 3> more{};
  Array dropped{};
  const bool* kept = nullptr;
  float factor = 1;
};

// The gradients of a layer normalization; null outputs are not computed.
struct LayerNormBackward {
  RowLayout layout;
  ConstArray dy, x, scale{};
  const float *mean = nullptr, *inverse_std = nullptr;
  Array dx{}, scale_gradient{}, bias_gradient{};
  const ResidualGradient* residual = nullptr;
};
std::int64_t layer_norm_backward_workspace(const RowLayout& layout);  // bytes
void layer_norm_backward(const LayerNormBackward& norm, void* workspace);

}  // namespace narrowgauge::cpu
