// SPDX-License-Identifier: Apache-2.0
// Gradients of reductions, built from primitives.
#pragma once

#include "ops/reduce/reduce.h"

namespace narrowgauge {

// The dx of the reduction of g's first input over `axes` (none negative).
Value reduction_gradient(Reduction kind, Gradient& g, const Dims& axes);

}  // namespace narrowgauge
