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

std::vector<Sample<Expand>> Expand::samples() {
  return {{{}, {sample("f32[3,1]"), sample_list({3, 4})}},
          {{}, {sample("f32[3,1]"), sample_list({2, 1, 5})}},
          {{}, {sample("f32[]"), sample_list({2, 3})}},
          {{}, {sample("f32[2,3]"), sample_list({})}},
          {{}, {sample("i64[3,1]", -9, 9), sample_list({3, 2})}}};
}

}  // namespace narrowgauge

NG_OPS(expand, narrowgauge::Expand)
