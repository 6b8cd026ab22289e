// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/swiglu.h"

#include "ops/activation/swish.h"
#include "ops/pointwise/expression.h"
#include "ops/table.h"

namespace narrowgauge {

Values SwiGLU::gradient(Gradient& g) const {
  const Expression a(g, g.input(0)), b(g, g.input(1)), dy(g, g.output_gradient());
  Values gradients(2);
  if (g.wants(0)) gradients[0] = a.apply(SwishGradient{alpha}, dy * b);
  if (g.wants(1)) gradients[1] = a.apply(Swish{alpha}) * dy;
  return gradients;
}

}  // namespace narrowgauge

NG_OPS(swiglu, narrowgauge::SwiGLU)
