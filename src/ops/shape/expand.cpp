// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/expand.h"

#include "narrowgauge/graph.h"
#include "ops/elementwise/elementwise.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/shape/axes.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes Expand::infer(const Inference& in) const {
  return {{in.dtype(0), broadcast_shapes("Expand", in.shape(0), known_sizes(in, 1, "shape"))}};
}

Values Expand::gradient(Gradient& g) const {
  return {reduce_to(g, g.output_gradient(), g.input(0)), absent};
}

std::span<const Kernel> Expand::kernels() { return ExpandTo::kernels(); }

}  // namespace narrowgauge

NG_OPS(expand, narrowgauge::Expand)
