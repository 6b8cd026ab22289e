// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/relu.h"

#include "narrowgauge/graph.h"
#include "ops/table.h"

namespace narrowgauge {

Values Relu::gradient(Gradient& g) const {
  return {g.add(ReluGradient{}, {g.output(), g.output_gradient()})};
}

// The derivative of a step is zero: no gradient flows to y.
Values ReluGradient::gradient(Gradient& g) const {
  return {absent, g.add(ReluGradient{}, {g.input(0), g.output_gradient()})};
}

}  // namespace narrowgauge

NG_OPS(relu, narrowgauge::Relu, narrowgauge::ReluGradient)
