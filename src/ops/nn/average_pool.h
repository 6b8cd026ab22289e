// SPDX-License-Identifier: Apache-2.0
// ONNX's AveragePool and GlobalAveragePool over one to three spatial axes, and their gradients.
// Forward and backward are linear: each is the gradient of the other.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"
#include "ops/nn/window.h"

namespace narrowgauge {

// x [N, C, spatial...] -> the mean of each window over its places in x; with count_include_pad also
// over those in the padding, which count as zeros.
struct AveragePool {
  static constexpr OpInfo info{.name = "AveragePool",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  std::string auto_pad = "NOTSET";
  std::int64_t ceil_mode = 0, count_include_pad = 0;
  Dims dilations{}, kernel_shape{}, pads{}, strides{};

  static void attributes(auto& self, auto&& visit) {
    visit_pool(self, visit);
    visit("count_include_pad", self.count_include_pad);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dy -> dx of the given shape.
struct AveragePoolGradient {
  static constexpr OpInfo info{.name = "AveragePoolGradient",
                               .domain = "ng",
                               .inputs = "dy:T",
                               .outputs = "dx:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  std::string auto_pad = "NOTSET";
  std::int64_t ceil_mode = 0, count_include_pad = 0;
  Dims dilations{}, kernel_shape{}, pads{}, strides{};
  Shape shape{};  // of dx

  static void attributes(auto& self, auto&& visit) {
    visit_pool(self, visit);
    visit("count_include_pad", self.count_include_pad);
    visit("shape", self.shape);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// x [N, C, spatial...] -> means [N, C, 1, ...].
struct GlobalAveragePool {
  static constexpr OpInfo info{.name = "GlobalAveragePool",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dy [N, C, 1, ...] -> dx of the given shape.
struct GlobalAveragePoolGradient {
  static constexpr OpInfo info{.name = "GlobalAveragePoolGradient",
                               .domain = "ng",
                               .inputs = "dy:T",
                               .outputs = "dx:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  Shape shape{};  // of dx
  static void attributes(auto& self, auto&& visit) { visit("shape", self.shape); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
