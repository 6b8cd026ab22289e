// SPDX-License-Identifier: Apache-2.0
// Rectifier with a trained slope (He et al., "Delving deep into rectifiers", 2015).
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

// slope x for x < 0, else x; slope broadcasts to the shape of x.
struct PRelu {
  static constexpr OpInfo info{.name = "PRelu",
                               .inputs = "x:T, slope:T",
                               .outputs = "y:T",
                               .types = "T:number",
                               .precision = narrowgauge::infer,
                               .fusion = Fusion::elementwise};
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  TensorTypes infer(const Inference& in) const;
  NG_FORMULA(PRelu, (T x, T slope), select(x < T(0), slope* x, x))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
