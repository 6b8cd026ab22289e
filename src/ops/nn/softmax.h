// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax along one axis (ONNX 13) and their gradients, which read the results.
// Exponentials and sums are computed in f32 (f64 for f64) whatever T is.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

namespace detail {
constexpr OpInfo softmax_info(std::string_view name) {
  return {.name = name,
          .inputs = "x:T",
          .outputs = "y:T",
          .types = "T:float",
          .precision = infer,
          .fusion = Fusion::reduction};
}
constexpr OpInfo softmax_gradient_info(std::string_view name) {
  return {.name = name,
          .domain = "ng",
          .inputs = "y:T, dy:T",
          .outputs = "dx:T",
          .types = "T:float",
          .precision = infer,
          .fusion = Fusion::reduction};
}
}  // namespace detail

// exp(x) / sum(exp(x))
struct Softmax {
  static constexpr OpInfo info = detail::softmax_info("Softmax");
  std::int64_t axis = -1;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// x - log(sum(exp(x)))
struct LogSoftmax {
  static constexpr OpInfo info = detail::softmax_info("LogSoftmax");
  std::int64_t axis = -1;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dx = y * (dy - sum(dy * y))
struct SoftmaxGradient {
  static constexpr OpInfo info = detail::softmax_gradient_info("SoftmaxGradient");
  std::int64_t axis = -1;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// dx = dy - exp(y) * sum(dy)
struct LogSoftmaxGradient {
  static constexpr OpInfo info = detail::softmax_gradient_info("LogSoftmaxGradient");
  std::int64_t axis = -1;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
