// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/linear_units.h"

#include "ops/pointwise/expression.h"
#include "ops/table.h"

namespace narrowgauge {

Values LeakyRelu::gradient(Gradient& g) const {
  return {g.add(LeakyReluGradient{alpha}, {g.input(0), g.output_gradient()})};
}

// The gradient is linear in dy, and constant in x almost everywhere.
Values LeakyReluGradient::gradient(Gradient& g) const {
  return {absent, g.add(LeakyReluGradient{alpha}, {g.input(0), g.output_gradient()})};
}

Values Elu::gradient(Gradient& g) const {
  return {g.add(EluGradient{alpha}, {g.input(0), g.output_gradient()})};
}

Values EluGradient::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), dy(r, r.input(1));
  return {where(x < 0, alpha * exp(x) * dy, dy)};
}

Values HardSwish::gradient(Gradient& g) const {
  return {g.add(HardSwishGradient{}, {g.input(0), g.output_gradient()})};
}

Values HardSwishGradient::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), dy(r, r.input(1));
  return {dy * where(x > -3, where(x < 3, x / 3 + 0.5, 1), 0)};
}

}  // namespace narrowgauge

NG_OPS(linear_units, narrowgauge::LeakyRelu, narrowgauge::LeakyReluGradient, narrowgauge::Elu,
       narrowgauge::EluGradient, narrowgauge::HardSwish, narrowgauge::HardSwishGradient)
