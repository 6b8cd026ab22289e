// SPDX-License-Identifier: Apache-2.0
#include "ops/math/modulo.h"

#include "ops/elementwise/expression.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes Mod::infer(const Inference& in) const {
  require(fmod == 0 || fmod == 1, "Mod: fmod must be 0 or 1, got ", fmod);
  require(fmod == 1 || !is_floating(in.dtype(0)), "Mod: ", in.dtype(0), " needs fmod = 1");
  return elementwise_types(in);
}

// y = a - b n, where n, the whole part of a / b, is constant almost everywhere.
Values Mod::gradient(Gradient& g) const {
  const Expression a(g, g.input(0)), b(g, g.input(1)), y(g, g.output());
  const Expression dy(g, g.output_gradient());
  Values result(2);
  if (g.wants(0)) result[0] = reduce_to(g, dy, a);
  if (g.wants(1)) result[1] = reduce_to(g, -(dy * ((a - y) / b)), b);
  return result;
}

}  // namespace narrowgauge

NG_OPS(modulo, narrowgauge::Mod)
