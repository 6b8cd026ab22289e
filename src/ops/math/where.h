// SPDX-License-Identifier: Apache-2.0
// Chooses between two tensors, element by element.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

struct Where {
  static constexpr OpInfo info{.name = "Where",
                               .inputs = "condition:bool, x:T, y:T",
                               .outputs = "z:T",
                               .precision = clear,
                               .fusion = Fusion::elementwise};
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(Where, (T condition, T x, T y), select(condition != T(0), x, y))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
