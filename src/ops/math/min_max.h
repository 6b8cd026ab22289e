// SPDX-License-Identifier: Apache-2.0
// Smallest and largest of any number of tensors, and clipping. NaN wins over every number.
#pragma once

#include <limits>

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

constexpr OpInfo extreme_info(std::string_view name) {
  OpInfo info = commutative(unary_info(name, clear, "T:number"));
  info.inputs = "x:T, rest*:T";
  return info;
}

struct Min {
  static constexpr OpInfo info = extreme_info("Min");
  static constexpr bool on_integers = true, folds = true;
  static constexpr double when_absent[] = {0, std::numeric_limits<double>::infinity()};
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Min, (T a, T b), select((b < a) | (b != b), b, a))
  Values gradient(Gradient& g) const;
};

struct Max {
  static constexpr OpInfo info = extreme_info("Max");
  static constexpr bool on_integers = true, folds = true;
  static constexpr double when_absent[] = {0, -std::numeric_limits<double>::infinity()};
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Max, (T a, T b), select((b > a) | (b != b), b, a))
  Values gradient(Gradient& g) const;
};

// min(max(x, low), high): ONNX's order, so that `high` wins where low > high.
struct Clip {
  static constexpr OpInfo info{.name = "Clip",
                               .inputs = "x:T, min?:T, max?:T",
                               .outputs = "y:T",
                               .types = "T:number",
                               .precision = clear,
                               .fusion = Fusion::elementwise};
  static constexpr bool on_integers = true;
  static constexpr double when_absent[] = {0, -std::numeric_limits<double>::infinity(),
                                           std::numeric_limits<double>::infinity()};
  NG_NO_ATTRIBUTES
  TensorTypes infer(const Inference& in) const;
  NG_FORMULA(Clip, (T x, T low, T high),
             select(select(x < low, low, x) > high, high, select(x < low, low, x)))
  Values gradient(Gradient& g) const;
};

// dy where x is within the limits, else 0.
struct ClipGradient {
  static constexpr OpInfo info =
      activation_gradient_info("ClipGradient", clear, "x:T, dy:T, min?:T, max?:T");
  static constexpr double when_absent[] = {0, 0, -std::numeric_limits<double>::infinity(),
                                           std::numeric_limits<double>::infinity()};
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(ClipGradient, (T x, T dy, T low, T high), select((x < low) | (x > high), T(0), dy))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
