// SPDX-License-Identifier: Apache-2.0
// Elementwise ops behind a convolution that are no more than a sum with a residual and bounds on
// the result, as a Relu or a Clip has them: kernels compute these before they store.
#pragma once

#include <optional>

#include "groups/group.h"
#include "kernels/cpu/floats/float_results.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

struct BoundedTail {
  int residual = -1;  // the input of the body that is added; -1: none
  cpu::FloatBounds bounds;
};

// The tail of a body's convolution, which no input but the residual's reaches; nothing if it has
// another form.
std::optional<BoundedTail> bounded_tail(const Graph& body, int convolution);

// The bounds that a Relu and a Clip behind it are, of which a group may have none; nothing if they
// are not known numbers.
std::optional<cpu::FloatBounds> bounds_of(const GroupMatch& match, Part relu, Part clip);

}  // namespace narrowgauge
