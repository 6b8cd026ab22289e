// SPDX-License-Identifier: Apache-2.0
// Weights [C, 1, kernel...] of f32, a window for each channel, packed as blocks [taps][32
// channels].
#pragma once

#include <algorithm>
#include <string>

#include "kernels/cpu/core/view.h"
#include "kernels/cpu/core/work.h"
#include "kernels/cpu/floats/float_depthwise.h"

namespace narrowgauge::cpu {

class FloatDepthwiseWeights {
 public:
  explicit FloatDepthwiseWeights(const View& w) : w_(w) {}

  std::int64_t outputs() const { return w_.dims[0]; }
  std::int64_t taps() const { return w_.dims[2] * w_.dims[3]; }
  std::int64_t blocks() const { return ceil_divide(w_.dims[0], depthwise_channels); }
  std::int64_t channels(std::int64_t block) const {
    return std::min(depthwise_channels, w_.dims[0] - block * depthwise_channels);
  }

  std::string format() const {
    return concat("f32 blocks of ", depthwise_channels, ' ', w_.dims, ' ', w_.strides);
  }
  std::int64_t bytes() const { return 4 * blocks() * taps() * depthwise_channels; }
  void pack(const float* w, float* packed) const;

  const float* block(const float* packed, std::int64_t block) const {
    return packed + block * taps() * depthwise_channels;
  }

 private:
  View w_;
};

}  // namespace narrowgauge::cpu
