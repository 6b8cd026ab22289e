// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/swish.h"

#include "ops/activation/sigmoid.h"
#include "ops/elementwise/expression.h"
#include "ops/table.h"

namespace narrowgauge {

Values Swish::gradient(Gradient& g) const {
  return {g.add(SwishGradient{alpha}, {g.input(0), g.output_gradient()})};
}

Values SwishGradient::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), dy(r, r.input(1));
  const Expression s = (alpha * x).apply(Sigmoid{});
  return {dy * (s + alpha * x * s * (1 - s))};
}

Values Mish::gradient(Gradient& g) const {
  return {g.add(MishGradient{}, {g.input(0), g.output_gradient()})};
}

Values MishGradient::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), dy(r, r.input(1));
  const Expression t = x.apply(Softplus{}).apply(Tanh{});
  return {dy * (t + x * x.apply(Sigmoid{}) * ((1 - t) * (1 + t)))};
}

}  // namespace narrowgauge

NG_OPS(swish, narrowgauge::Swish, narrowgauge::SwishGradient, narrowgauge::Mish,
       narrowgauge::MishGradient)
