// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/exponential_units.h"

#include "ops/pointwise/expression.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// dy slope, and dy tail e^(x / width) for x <= 0. The exponent is never positive, so that nothing
// overflows on the side that is not chosen.
Values through_exponential(Gradient& g, double slope, double tail, double width) {
  const Expression x(g, g.input(0)), dy(g, g.output_gradient());
  const Expression negative = where(x < 0, x, 0);
  return {dy * where(x > 0, slope, tail * exp(negative / width))};
}

}  // namespace

Values Celu::gradient(Gradient& g) const { return through_exponential(g, 1, 1, alpha); }

Values Selu::gradient(Gradient& g) const { return through_exponential(g, gamma, gamma * alpha, 1); }

}  // namespace narrowgauge

NG_OPS(exponential_units, narrowgauge::Celu, narrowgauge::Selu)
