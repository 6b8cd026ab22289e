// SPDX-License-Identifier: Apache-2.0
// ONNX 28's SwiGLU: Shazeer, "GLU variants improve transformer", 2020.
#pragma once

#include "ops/elementwise/formulas.h"

namespace narrowgauge {

// a sigmoid(alpha a) b
struct SwiGLU {
  static constexpr OpInfo info = binary_info("SwiGLU", narrowgauge::infer);
  double alpha = 1;
  static void attributes(auto& self, auto&& visit) { visit("alpha", self.alpha); }
  NG_SAME_SHAPE
  NG_FORMULA(SwiGLU, (T a, T b), (a * sigmoid(T(alpha) * a) * b))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
