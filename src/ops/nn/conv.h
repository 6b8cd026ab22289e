// SPDX-License-Identifier: Apache-2.0
// ONNX's Conv over one to three spatial axes, and its two gradients. All three come from the
// trilinear form sum(y * conv(x, w)), so the gradients of each are the other two.
#pragma once

#include <string>

#include "narrowgauge/graph.h"
#include "narrowgauge/op_record.h"
#include "ops/nn/window.h"
#include "ops/offers/convolution.h"

namespace narrowgauge {

// x [N, C, spatial...], w [M, C / group, kernel...], b [M] -> y [N, M, spatial...].
struct Conv {
  static constexpr OpInfo info{.name = "Conv",
                               .inputs = "x:T, w:T~, b?:T~",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  std::string auto_pad = "NOTSET";
  Dims dilations{};
  std::int64_t group = 1;
  Dims kernel_shape{}, pads{}, strides{};

  static void attributes(auto& self, auto&& visit) { visit_convolution(self, visit); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// dy, w -> dx of the given shape: the gradient of Conv's x; also a transposed convolution.
struct ConvDataGradient {
  static constexpr OpInfo info{.name = "ConvDataGradient",
                               .domain = "ng",
                               .inputs = "dy:T, w:T~",
                               .outputs = "dx:T",
                               .types = "T:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  std::string auto_pad = "NOTSET";
  Dims dilations{};
  std::int64_t group = 1;
  Dims kernel_shape{}, pads{}, strides{};
  Shape shape{};  // of dx

  static void attributes(auto& self, auto&& visit) {
    visit_convolution(self, visit);
    visit("shape", self.shape);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// x, dy -> dw of the given shape: the gradient of Conv's w.
struct ConvWeightGradient {
  static constexpr OpInfo info{.name = "ConvWeightGradient",
                               .domain = "ng",
                               .inputs = "x:T, dy:T",
                               .outputs = "dw:T~",
                               .types = "T:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  std::string auto_pad = "NOTSET";
  Dims dilations{};
  std::int64_t group = 1;
  Dims kernel_shape{}, pads{}, strides{};
  Shape shape{};  // of dw

  static void attributes(auto& self, auto&& visit) {
    visit_convolution(self, visit);
    visit("shape", self.shape);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// A node of one of these ops as a convolution of given operands, without its bias.
Convolution convolution_of(const Node& node, const Operand& x, const Operand& w, const Operand& y);

}  // namespace narrowgauge
