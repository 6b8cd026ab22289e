// SPDX-License-Identifier: Apache-2.0
// Convolutions of quantised images. Integers have no gradient; mixed precision leaves them alone.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"
#include "ops/nn/window.h"

namespace narrowgauge {

// x [N, C, spatial...], w [M, C / group, kernel...] -> y [N, M, spatial...]: the convolution of x -
// x_zero_point with w - w_zero_point in i32, modulo 2^32; pads stand for x_zero_point.
// w_zero_point: one for all, or one for each output channel.
struct ConvInteger {
  static constexpr OpInfo info{.name = "ConvInteger",
                               .inputs = "x:X!~, w:W!~, x_zero_point?:X!~, w_zero_point?:W!~",
                               .outputs = "y:i32~",
                               .types = "X:byte, W:byte"};
  std::string auto_pad = "NOTSET";
  Dims dilations{};
  std::int64_t group = 1;
  Dims kernel_shape{}, pads{}, strides{};

  static void attributes(auto& self, auto&& visit) { visit_convolution(self, visit); }
  TensorTypes infer(const Inference& in) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// ConvInteger plus the bias B [M] (quantised with x_scale w_scale), quantised again as
// QLinearMatMul does. w_scale: one for all, or one for each output channel.
struct QLinearConv {
  static constexpr OpInfo info{
      .name = "QLinearConv",
      .inputs =
          "x:X!~, x_scale:S!~, x_zero_point:X!~, w:W!~, w_scale:S!~, w_zero_point:W!~, "
          "y_scale:S!~, y_zero_point:Y!~, B?:i32!~",
      .outputs = "y:Y~",
      .types = "X:byte, W:byte, Y:byte, S:float"};
  std::string auto_pad = "NOTSET";
  Dims dilations{};
  std::int64_t group = 1;
  Dims kernel_shape{}, pads{}, strides{};

  static void attributes(auto& self, auto&& visit) { visit_convolution(self, visit); }
  TensorTypes infer(const Inference& in) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
