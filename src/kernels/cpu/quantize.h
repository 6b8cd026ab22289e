// SPDX-License-Identifier: Apache-2.0
// f32, f16 and bf16 to bytes and back, with one scale and zero for all or for each channel. All of
// it is f32 arithmetic, rounded to nearest even, whatever the storage.
#pragma once

#include <cstdint>

#include "kernels/cpu/strip.h"

namespace narrowgauge::cpu {

// A dense array seen as [outer][channels][inner].
struct QuantizedLayout {
  std::int64_t outer = 1, channels = 1, inner = 0;
};

// One for each channel.
struct QuantizedScales {
  const float* scales;
  const std::int32_t* zeros;
};

// y = round(x / scale) + zero, saturated to `to`, u8 or i8; NaN gives zero.
void quantize(ConstArray x, const QuantizedLayout& layout, const QuantizedScales& by, DType to,
              std::uint8_t* y);
// y = (x - zero) scale, for x of u8 or i8.
void dequantize(const std::uint8_t* x, DType from, const QuantizedLayout& layout,
                const QuantizedScales& by, const Array& y);

// The least and the largest of `count` values and 0; NaN is passed over.
struct ValueRange {
  float least = 0, most = 0;
};
ValueRange value_range(const float* x, std::int64_t count);

}  // namespace narrowgauge::cpu
