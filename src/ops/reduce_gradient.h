// SPDX-License-Identifier: Apache-2.0
// Gradients of reductions, built of primitives.
#pragma once

#include "ops/reduce.h"

namespace narrowgauge {

// dx of the reduction of g's first input over `axes` (none negative).
Value reduction_gradient(Reduction kind, Gradient& g, const Dims& axes);

}  // namespace narrowgauge
