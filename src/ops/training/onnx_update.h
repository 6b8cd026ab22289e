// SPDX-License-Identifier: Apache-2.0
// The update rules of ONNX's domain ai.onnx.preview.training, as ops made of simpler ones. Each
// updates any number n of tensors: `values` are the n tensors, their n gradients, then their n
// moments of each kind; the results the n new tensors, then the new moments. Rate and count are
// single numbers. Throws UsageError where values of one tensor differ in their shapes.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// With g = gradient + norm_coefficient * x, the moments v = alpha v + (1 - alpha) g and h = beta h
// + (1 - beta) g^2, and rate' = rate sqrt(1 - beta^count) / (1 - alpha^count), which is rate for a
// count of 0: x = (1 - norm_coefficient_post) (x - rate' v / (sqrt(h) + epsilon)). Kingma and Ba,
// "Adam: a method for stochastic optimization", 2015, as ONNX's Adam has it.
struct Adam {
  static constexpr OpInfo info{.name = "Adam",
                               .domain = "ai.onnx.preview.training",
                               .inputs = "rate:R!, count:i64!, values*:W~!",
                               .outputs = "results*:W~!",
                               .types = "R:float, W:float"};
  double alpha = 0.9, beta = 0.999, epsilon = 1e-6;
  double norm_coefficient = 0, norm_coefficient_post = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("alpha", self.alpha);
    visit("beta", self.beta);
    visit("epsilon", self.epsilon);
    visit("norm_coefficient", self.norm_coefficient);
    visit("norm_coefficient_post", self.norm_coefficient_post);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// With g = gradient + norm_coefficient * x, and the moment v = alpha v + beta g, with 1 in place of
// beta for a count of 0: x = x - rate v in the mode "standard", x - rate (g + alpha v) in the mode
// "nesterov". ONNX's Momentum.
struct Momentum {
  static constexpr OpInfo info{.name = "Momentum",
                               .domain = "ai.onnx.preview.training",
                               .inputs = "rate:R!, count:i64!, values*:W~!",
                               .outputs = "results*:W~!",
                               .types = "R:float, W:float"};
  double alpha = 0, beta = 1;
  std::string mode = "standard";
  double norm_coefficient = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("alpha", self.alpha);
    visit("beta", self.beta);
    visit("mode", self.mode);
    visit("norm_coefficient", self.norm_coefficient);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// With g = gradient + norm_coefficient * x, and the moment h = h + g^2: x = x - rate / (1 + count *
// decay_factor) g / (sqrt(h) + epsilon). Duchi, Hazan and Singer, "Adaptive subgradient methods for
// online learning and stochastic optimization", 2011, as ONNX's Adagrad has it.
struct Adagrad {
  static constexpr OpInfo info{.name = "Adagrad",
                               .domain = "ai.onnx.preview.training",
                               .inputs = "rate:R!, count:i64!, values*:W~!",
                               .outputs = "results*:W~!",
                               .types = "R:float, W:float"};
  double decay_factor = 0, epsilon = 1e-6, norm_coefficient = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("decay_factor", self.decay_factor);
    visit("epsilon", self.epsilon);
    visit("norm_coefficient", self.norm_coefficient);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
