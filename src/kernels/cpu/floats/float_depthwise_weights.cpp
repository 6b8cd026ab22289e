// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_depthwise_weights.h"

namespace narrowgauge::cpu {

void FloatDepthwiseWeights::pack(const float* w, float* packed) const {
  const Dims& strides = w_.strides;
  const std::int64_t columns = w_.dims[3];
  for (std::int64_t channel = 0; channel < blocks() * depthwise_channels; ++channel)
    for (std::int64_t tap = 0; tap < taps(); ++tap) {
      const std::int64_t at = (channel / depthwise_channels * taps() + tap) * depthwise_channels +
                              channel % depthwise_channels;
      packed[at] =
          channel < w_.dims[0]
              ? w[channel * strides[0] + tap / columns * strides[2] + tap % columns * strides[3]]
              : 0.0F;
    }
}

}  // namespace narrowgauge::cpu
