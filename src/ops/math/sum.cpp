// SPDX-License-Identifier: Apache-2.0
#include "ops/math/sum.h"

#include "ops/control/composite.h"
#include "ops/elementwise/expression.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

Values Sum::gradient(Gradient& g) const {
  Values result;
  for (int i = 0; i < g.input_count(); ++i)
    result.push_back(g.wants(i) ? reduce_to(g, g.output_gradient(), g.input(i)) : absent);
  return result;
}

Values Mean::decompose(Rewriting& r) const {
  Values inputs;
  for (int i = 0; i < r.input_count(); ++i) inputs.push_back(r.input(i));
  return {Expression(r, r.add(Sum{}, inputs)) / static_cast<double>(inputs.size())};
}

std::span<const Kernel> Mean::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(sum, narrowgauge::Sum, narrowgauge::Mean)
