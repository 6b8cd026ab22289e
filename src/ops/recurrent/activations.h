// SPDX-License-Identifier: Apache-2.0
// The activations that recurrent ops name in their attributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/pointwise/expression.h"

namespace narrowgauge {

// One of ONNX's: Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid,
// Elu, Softsign, Softplus. Affine is alpha * x + beta, ScaledTanh alpha * tanh(beta * x).
struct RecurrentActivation {
  std::string name;
  double alpha = 0, beta = 0;
  Expression operator()(Expression x) const;
};

// The activations named in `names`, separated by commas.
// `alphas` and `betas` go one after the other to those that have one; the others keep ONNX's
// default. Throws UsageError naming the op.
std::vector<RecurrentActivation> parse_activations(std::string_view op, std::string_view names,
                                                   const Tensor& alphas, const Tensor& betas);

}  // namespace narrowgauge
