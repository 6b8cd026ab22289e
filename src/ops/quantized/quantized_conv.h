// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of quantised values with all that stands behind them as one op: what
// the pass fuse_quantized makes of DequantizeLinear, Conv, Add, Relu and QuantizeLinear.
#pragma once

#include <limits>
#include <string>

#include "narrowgauge/op_record.h"
#include "ops/nn/window.h"

namespace narrowgauge {

// The inputs of both ops. x and w stand for (x - x_zero) x_scale and (w - w_zero) w_scale; w has
// one scale and zero point, or one for each output channel. With sums in i32, modulo 2^32,
//   y = bound(sum (x_scale w_scale / y_scale) + bias / y_scale
//             + (residual - residual_zero) residual_scale / y_scale, low, high),
// in steps of y, by fused multiply-adds in f32; or, without a residual and bounds,
//   y = gelu(sum (x_scale w_scale) + bias) / y_scale, within 2^-15 of itself.
// If there is no y_scale (a step is 1), y is f32, or bf16 where `dtype` says so; else it has the
// dtype of y_zero: rounded to nearest even, moved by y_zero and saturated, NaN as y_zero. The
// residual has the shape of y, and bytes have a scale and a zero point.
inline constexpr std::string_view quantized_ports =
    "x:X!, w:W!~, x_scale:f32!~, x_zero?:X!~, w_scale:f32!~, w_zero?:W!~, bias?:f32!~, "
    "residual?:R!, residual_scale?:f32!~, residual_zero?:R!~, y_scale?:f32!~, y_zero?:Y!~";

// What both ops do with their sums.
void visit_quantized_end(auto& self, auto&& visit) {
  visit("low", self.low);
  visit("high", self.high);
  visit("gelu", self.gelu);
  visit("dtype", self.dtype);
}

// x [N, C, spatial...], w [M, C / group, kernel...] -> y [N, M, spatial...]; pads stand for x_zero.
struct QuantizedConv {
  static constexpr OpInfo info{.name = "QuantizedConv",
                               .domain = "ng",
                               .inputs = quantized_ports,
                               .outputs = "y:any",
                               .types = "X:byte, W:byte, Y:byte",
                               .fusion = Fusion::contraction,
                               .stage = Stage::precise};
  std::string auto_pad = "NOTSET";
  Dims dilations{};
  std::int64_t group = 1;
  Dims kernel_shape{}, pads{}, strides{};
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool gelu = false;
  DType dtype = DType::f32;

  static void attributes(auto& self, auto&& visit) {
    visit_convolution(self, visit);
    visit_quantized_end(self, visit);
  }
  TensorTypes infer(const Inference& in) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// x [..., K], w [K, M] or, transposed, [M, K] -> y [..., M].
struct QuantizedMatMul {
  static constexpr OpInfo info{.name = "QuantizedMatMul",
                               .domain = "ng",
                               .inputs = quantized_ports,
                               .outputs = "y:any",
                               .types = "X:byte, W:byte, Y:byte",
                               .fusion = Fusion::contraction,
                               .stage = Stage::precise};
  bool transposed = false;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool gelu = false;
  DType dtype = DType::f32;

  static void attributes(auto& self, auto&& visit) {
    visit("transposed", self.transposed);
    visit_quantized_end(self, visit);
  }
  TensorTypes infer(const Inference& in) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
