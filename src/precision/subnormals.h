// SPDX-License-Identifier: Apache-2.0
// What a math mode says of f32's subnormals, between contractions too.
#pragma once

#include "base/machine/floating_environment.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// ieee keeps them, and so do the simulated units, whose GPUs do. The fast modes flush: numbers that
// decay below the least normal one, as moments do, would make each step slower.
inline Subnormals subnormals_of(Math f32_math) {
  return f32_math == Math::ieee || is_simulated(f32_math) ? Subnormals::keep : Subnormals::flush;
}

}  // namespace narrowgauge
