// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/prelu.h"

#include "ops/elementwise/expression.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes PRelu::infer(const Inference& in) const {
  require(broadcast_shapes("PRelu", in.shape(0), in.shape(1)) == in.shape(0), "PRelu: slope ",
          in.type(1), " does not broadcast to ", in.type(0));
  return {in.type(0)};
}

Values PRelu::gradient(Gradient& g) const {
  const Expression x(g, g.input(0)), slope(g, g.input(1)), dy(g, g.output_gradient());
  Values result(2);
  if (g.wants(0)) result[0] = where(x < 0, dy * slope, dy);
  if (g.wants(1)) result[1] = reduce_to(g, where(x < 0, dy * x, 0), slope);
  return result;
}

}  // namespace narrowgauge

NG_OPS(prelu, narrowgauge::PRelu)
