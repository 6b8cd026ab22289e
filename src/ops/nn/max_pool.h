// SPDX-License-Identifier: Apache-2.0
// ONNX's MaxPool over one to three spatial axes, and its gradient.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"
#include "ops/nn/window.h"

namespace narrowgauge {

// x [N, C, spatial...] -> the largest value of each window: the first of equals, and NaN before any
// number. `indices` is its place in row-major x (storage_order 1: column-major in the spatial
// part). `taps`, ours, is for the gradient: its number in the window, a byte if that is enough.
struct MaxPool {
  static constexpr OpInfo info{.name = "MaxPool",
                               .inputs = "x:T",
                               .outputs = "y:T, indices?:i64, taps?:any",
                               .types = "T:number",
                               .precision = clear};
  std::string auto_pad = "NOTSET";
  std::int64_t ceil_mode = 0;
  Dims dilations{}, kernel_shape{}, pads{};
  std::int64_t storage_order = 0;
  Dims strides{};

  static void attributes(auto& self, auto&& visit) {
    visit_pool(self, visit);
    visit("storage_order", self.storage_order);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// Puts each dy where the largest value of its window is in dx, which has the given shape.
struct MaxPoolGradient {
  static constexpr OpInfo info{.name = "MaxPoolGradient",
                               .domain = "ng",
                               .inputs = "dy:T, taps:any!",
                               .outputs = "dx:T",
                               .types = "T:float",
                               .precision = clear};
  std::string auto_pad = "NOTSET";
  std::int64_t ceil_mode = 0;
  Dims dilations{}, kernel_shape{}, pads{}, strides{};
  Shape shape{};  // of dx

  static void attributes(auto& self, auto&& visit) {
    visit_pool(self, visit);
    visit("shape", self.shape);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// The element of each window of x that its tap says, which MaxPool took of another tensor of this
// shape: its gradient's gradient.
struct MaxPoolTaken {
  static constexpr OpInfo info{.name = "MaxPoolTaken",
                               .domain = "ng",
                               .inputs = "x:T, taps:any!",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = clear};
  std::string auto_pad = "NOTSET";
  std::int64_t ceil_mode = 0;
  Dims dilations{}, kernel_shape{}, pads{}, strides{};

  static void attributes(auto& self, auto&& visit) { visit_pool(self, visit); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
