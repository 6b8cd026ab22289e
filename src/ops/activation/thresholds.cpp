// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/thresholds.h"

#include "ops/pointwise/expression.h"
#include "ops/table.h"

namespace narrowgauge {

Values Shrink::gradient(Gradient& g) const {
  const Expression x(g, g.input(0)), dy(g, g.output_gradient());
  return {where(x < -lambd, dy, where(x > lambd, dy, 0))};
}

Values ThresholdedRelu::gradient(Gradient& g) const {
  const Expression x(g, g.input(0)), dy(g, g.output_gradient());
  return {where(x > alpha, dy, 0)};
}

}  // namespace narrowgauge

NG_OPS(thresholds, narrowgauge::Shrink, narrowgauge::ThresholdedRelu)
