// SPDX-License-Identifier: Apache-2.0
// Sum and mean of any number of tensors, element by element, with ONNX's broadcasting.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

struct Sum {
  static constexpr OpInfo info{.name = "Sum",
                               .inputs = "x:T, rest*:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer,
                               .fusion = Fusion::elementwise};
  static constexpr bool folds = true;
  static constexpr double when_absent[] = {0, 0};
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Sum, (T a, T b), a + b)
  Values gradient(Gradient& g) const;
};

struct Mean {
  static constexpr OpInfo info{.name = "Mean",
                               .inputs = "x:T, rest*:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = deny_f16};
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
