// SPDX-License-Identifier: Apache-2.0
// Elementwise ops behind a convolution that are no more than a sum with a residual and bounds on
// the result, as a Relu or a Clip has them: kernels compute these before they store.
#pragma once

#include <optional>

#include "kernels/cpu/floats/float_rows.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

struct BoundedTail {
  int residual = -1;  // the input of the body that is added; -1: none
  cpu::FloatBounds bounds;
};

// The tail of a body's convolution, which no input but the residual's reaches; nothing if it has
// another form.
std::optional<BoundedTail> bounded_tail(const Graph& body, int convolution);

}  // namespace narrowgauge
