// SPDX-License-Identifier: Apache-2.0
// Quantizes f32, f16 and bf16 to bytes and back, with one scale and zero for all or for each
// channel. All arithmetic is in f32, rounded to nearest even, whatever the storage.
#pragma once

#include <cstdint>

#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

// A dense array seen as [outer][channels][inner].
struct QuantizedLayout {
  std::int64_t outer = 1, channels = 1, inner = 0;
};

// A scale and a zero for each channel.
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

// Places of scales: one for all, one for each index of an axis, or one for each block of neighbours
// along it. The array is [outer][size][inner] along that axis; scales are [1], [size], or
// [outer][blocks][inner].
struct ScalePlaces {
  std::int64_t size = 1, inner = 1;
  std::int64_t block = 0;  // neighbours with one scale
  bool single = true;
};

// y = x / scale in y's dtype. For 8-bit floats and f4e2m1, too large values become the largest with
// `saturate`, else what the format makes of them. For 8- and 4-bit integers, halves go to even, the
// zero point is added, the sum is saturated, and NaN gives the zero point. No zeros: nullptr.
struct BlockQuantization {
  ScalePlaces places;
  const float* scales;
  const float* zeros;
  bool saturate = true;
};
void quantize_blocks(ConstArray x, std::int64_t count, const BlockQuantization& by, DType to,
                     void* y);
// y = (x - zero) scale.
void dequantize_blocks(const void* x, DType from, std::int64_t count, const BlockQuantization& by,
                       const Array& y);

// The least and the largest of `count` values and 0; NaN is ignored.
struct ValueRange {
  float least = 0, most = 0;
};
ValueRange value_range(const float* x, std::int64_t count);

}  // namespace narrowgauge::cpu
