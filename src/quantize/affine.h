// SPDX-License-Identifier: Apache-2.0
// Numbers of 8 bits that stand for real ones: value = (number - zero point) * scale, as ONNX's
// QuantizeLinear and DequantizeLinear have it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "narrowgauge/tensor.h"
#include "quantize/range.h"

namespace narrowgauge {

struct AffineFormat {
  float scale = 1;  // a normal number
  int zero_point = 0;
  DType dtype = DType::i8;  // or u8
  bool operator==(const AffineFormat&) const = default;
};

// The format whose numbers cover the range; 0 is among them. Throws UsageError for a range that is
// not finite or does not contain 0, and for another dtype.
AffineFormat affine_format(const Range& range, DType dtype);
// The format of i8 with zero point 0 and numbers from -127 to 127.
AffineFormat symmetric_format(const Range& range);

int least_number(DType dtype);                          // of u8 or i8
int most_number(DType dtype);                           // the same
int quantize(const AffineFormat& format, float value);  // nearest even, saturated; NaN as 0
float dequantize(const AffineFormat& format, int number);

// The share of values that saturate: they lie more than half a step beyond the numbers that the
// format has. Within a bin of the histogram values are taken to lie evenly. 0 of none.
double clipped_share(const Histogram& histogram, const AffineFormat& format);

// How weights become bytes.
struct WeightFormat {
  // 8: from -127 to 127. 7: from -63 to 63, whose products with u8 add up in pairs within 16 bits,
  // as instructions of AVX2 need it.
  int bits = 8;
  bool by_channel = true;  // a scale for each output channel, else one for all
  int most() const { return (1 << (bits - 1)) - 1; }
};

// Weights as i8 with zero point 0.
struct QuantizedWeights {
  Tensor numbers;           // i8, as the weights
  Tensor scales;            // f32 [], or [channels]
  std::optional<int> axis;  // of the channels
};
// The scale of each channel along an axis, by its largest absolute value.
std::vector<float> channel_scales(const Tensor& weights, int axis, const WeightFormat& format = {});
// Quantizes weights with one scale a channel, or one for all without an axis. Throws UsageError for
// weights that are not finite.
QuantizedWeights quantize_weights(const Tensor& weights, std::optional<int> axis,
                                  const WeightFormat& format = {});
Tensor dequantize_weights(const QuantizedWeights& weights);  // f32

// x_scale * w_scales, in f32 as DequantizeLinear takes them: f32 [] or [channels], as w_scales.
Tensor bias_scales(float x_scale, const Tensor& w_scales);
// A bias f32 [channels] as i32, nearest even, saturated.
Tensor quantize_bias(const Tensor& bias, const Tensor& scales);

}  // namespace narrowgauge
