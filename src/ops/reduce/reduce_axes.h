// SPDX-License-Identifier: Apache-2.0
// Which axes a reduction reduces, and the shapes that follow.
#pragma once

#include <vector>

#include "narrowgauge/kernel.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

struct ReducedShapes {
  Shape kept;     // reduced axes have size 1
  Shape dropped;  // without them
};
ReducedShapes reduced_shapes(const Shape& shape, const Dims& axes);

// The reduced axes in [0, rank); `given` is the op's own constant input, nullptr if absent. Throws
// UsageError naming the op.
Dims reduced_axes(std::string_view op, const Tensor* given, std::size_t rank, bool noop_if_empty);

// `dy` as an operand of the rank of `dx`: axes that a reduction dropped have size 1.
Operand with_reduced_axes(const Operand& dy, const Operand& dx, const Dims& axes);

}  // namespace narrowgauge
