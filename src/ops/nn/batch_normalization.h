// SPDX-License-Identifier: Apache-2.0
// ONNX 15's batch normalization and its gradient: Ioffe, Szegedy, "Batch normalization", 2015.
// Statistics are computed in f32 (f64 for f64) whatever T is.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// y = (x - mean) / sqrt(variance + epsilon) * scale + b over x [N, C, ...], vectors [C]. In
// training_mode, mean and variance (biased) are x's own; running_mean and running_var are input_* *
// momentum + batch's * (1 - momentum); ours, `unbiased`, takes PyTorch's variance for running_var,
// n / (n - 1) times the batch's for the n elements of a channel (0 for a single one, which PyTorch
// refuses). The last three outputs, ours, are for the backward pass: the
// batch's mean, 1 / sqrt(variance + epsilon), and b plus what y loses when the mean is rounded.
// Otherwise mean and variance are input_*, and y is the only output. No gradient flows to
// input_mean and input_var.
struct BatchNormalization {
  static constexpr OpInfo info{
      .name = "BatchNormalization",
      .inputs = "x:T, scale:S~, b:S~, input_mean:U~!, input_var:U~!",
      .outputs =
          "y:T, running_mean?:U~, running_var?:U~, batch_mean?:V~, batch_inverse_std?:V~, "
          "batch_b?:V~",
      .types = "T:float, S:float, U:float, V:float",
      .precision = narrowgauge::infer,
      .fusion = Fusion::reduction};
  double epsilon = 1e-5, momentum = 0.9;
  std::int64_t training_mode = 0;
  bool unbiased = false;

  static void attributes(auto& self, auto&& visit) {
    visit("epsilon", self.epsilon);
    visit("momentum", self.momentum);
    visit("training_mode", self.training_mode);
    visit("unbiased", self.unbiased);
  }
  // What running_var takes the variance of so many elements times.
  double variance_factor(std::int64_t elements) const;
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// Computes the y of a BatchNormalization in training again, with the same bits, from the statistics
// and the b that it returned.
struct NormalizeAgain {
  static constexpr OpInfo info{.name = "NormalizeAgain",
                               .domain = "ng",
                               .inputs = "x:T, scale:S~, b:V~, mean:V~, inverse_std:V~",
                               .outputs = "y:T",
                               .types = "T:float, S:float, V:float",
                               .precision = narrowgauge::infer};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// With n = (x - mean) * inverse_std: dbias = sum(dy), dscale = sum(dy * n), and dx = scale *
// inverse_std * (dy - mean(dy) - n * mean(dy * n)) if the statistics are x's own, scale *
// inverse_std * dy if they are given (training = false).
struct BatchNormalizationGradient {
  static constexpr OpInfo info{.name = "BatchNormalizationGradient",
                               .domain = "ng",
                               .inputs = "dy:T, x:T, scale:S~, mean:V~, inverse_std:V~",
                               .outputs = "dx:T, dscale?:S~, dbias?:S~",
                               .types = "T:float, S:float, V:float",
                               .precision = narrowgauge::infer,
                               .fusion = Fusion::reduction};
  bool training = true;

  static void attributes(auto& self, auto&& visit) { visit("training", self.training); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
