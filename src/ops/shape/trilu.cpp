// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/trilu.h"

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/math/where.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes Trilu::infer(const Inference& in) const {
  require(in.rank(0) >= 2, "Trilu: expected matrices, got ", in.type(0));
  require(!in.has(1) || constant_integers(in, 1, "k").size() == 1, "Trilu: k must be one number");
  return {in.type(0)};
}

Values Trilu::gradient(Gradient& g) const {
  return {g.add(Trilu{upper}, {g.output_gradient(), g.input(1)}), absent};
}

Values Trilu::decompose(Rewriting& r) const {
  const TensorType& x = r.type(r.input(0));
  const std::int64_t k = r.has_input(1) ? integers_of(*r.graph().constant_value(r.input(1)))[0] : 0;
  const Dims matrix = known_dims({x.shape.end() - 2, x.shape.end()});
  Tensor kept(DType::boolean, matrix);
  for (std::int64_t row = 0; row < matrix[0]; ++row)
    for (std::int64_t column = 0; column < matrix[1]; ++column)
      kept.set(row * matrix[1] + column, upper != 0 ? column - row >= k : column - row <= k);
  return {r.add(Where{}, {r.constant(kept), r.input(0), r.scalar(0, x.dtype)})};
}

std::span<const Kernel> Trilu::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(trilu, narrowgauge::Trilu)
