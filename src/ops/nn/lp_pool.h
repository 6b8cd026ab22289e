// SPDX-License-Identifier: Apache-2.0
// ONNX's pools that are made of others: GlobalMaxPool, LpPool and local response normalization.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"
#include "ops/nn/window.h"

namespace narrowgauge {

// x [N, C, spatial...] -> the largest value of each channel [N, C, 1, ...].
struct GlobalMaxPool {
  static constexpr OpInfo info{.name = "GlobalMaxPool",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = clear};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// x [N, C, spatial...] -> (sum |x|^p)^(1/p) over each window, in f32 (f64 for f64); what lies
// outside x counts as zero.
struct LpPool {
  static constexpr OpInfo info{.name = "LpPool",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  std::string auto_pad = "NOTSET";
  std::int64_t ceil_mode = 0;
  Dims dilations{}, kernel_shape{};
  std::int64_t p = 2;
  Dims pads{}, strides{};

  static void attributes(auto& self, auto&& visit) {
    visit_pool(self, visit);
    visit("p", self.p);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// x [N, C, ...] -> x / (bias + alpha / size * sum(x^2))^beta, the sum over `size` channels around
// each, (size - 1) / 2 (rounded down) of them before it: Krizhevsky et al., 2012. Computed in f32
// (f64 for f64).
struct LRN {
  static constexpr OpInfo info{.name = "LRN",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  double alpha = 1e-4, beta = 0.75, bias = 1;
  std::int64_t size = 1;

  static void attributes(auto& self, auto&& visit) {
    visit("alpha", self.alpha);
    visit("beta", self.beta);
    visit("bias", self.bias);
    visit("size", self.size);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
