// SPDX-License-Identifier: Apache-2.0
// Dropout and its gradient.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

// y = x / (1 - ratio) where the mask is true, else 0; unless in training_mode, y = x and the mask
// is true. The mask is a function of (seed, step, node name, element), 16 bits each; the attribute
// `seed` replaces the run's seed unless it is negative. Throws UsageError if a constant ratio is
// outside [0, 1), or at run time if another one is.
struct Dropout {
  static constexpr OpInfo info{.name = "Dropout",
                               .inputs = "x:T, ratio?:U!, training_mode?:bool",
                               .outputs = "y:T, mask?:bool!",
                               .types = "T:float, U:float",
                               .precision = narrowgauge::infer,
                               .random = true};
  std::int64_t seed = -1;
  static void attributes(auto& self, auto&& visit) { visit("seed", self.seed); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dy where the mask is true, scaled as Dropout scales.
struct DropoutGradient {
  static constexpr OpInfo info{.name = "DropoutGradient",
                               .domain = "ng",
                               .inputs = "dy:T, mask:bool, ratio?:U!, training_mode?:bool",
                               .outputs = "dx:T",
                               .types = "T:float, U:float",
                               .precision = narrowgauge::infer,
                               .fusion = Fusion::elementwise};
  static constexpr double when_absent[] = {0, 0, 0.5, 0};
  NG_NO_ATTRIBUTES
  TensorTypes infer(const Inference& in) const;
  NG_FORMULA(DropoutGradient, (T dy, T mask, T ratio, T training),
             select(mask != T(0), dy* select(training != T(0), T(1) / (T(1) - ratio), T(1)), T(0)))
  Values gradient(Gradient& g) const;
};

}  // namespace narrowgauge
