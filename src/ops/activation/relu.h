// SPDX-License-Identifier: Apache-2.0
// Relu and its gradient.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

// max(x, 0); NaN stays NaN.
struct Relu {
  static constexpr OpInfo info{.name = "Relu",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:number",
                               .precision = clear,
                               .fusion = Fusion::elementwise};
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Relu, (T x), select(x < T(0), T(0), x))
  Values gradient(Gradient& g) const;
};

// dy where the forward output is positive or NaN. Reads y, so that x need not be kept.
struct ReluGradient {
  static constexpr OpInfo info{.name = "ReluGradient",
                               .domain = "ng",
                               .inputs = "y:T, dy:T",
                               .outputs = "dx:T",
                               .types = "T:float",
                               .precision = clear,
                               .fusion = Fusion::elementwise};
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(ReluGradient, (T y, T dy), select(y <= T(0), T(0), dy))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
