// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/softsign.h"

#include "ops/elementwise/expression.h"
#include "ops/math/arithmetic.h"
#include "ops/table.h"

namespace narrowgauge {

Values Softsign::gradient(Gradient& g) const {
  return {g.add(SoftsignGradient{}, {g.input(0), g.output_gradient()})};
}

Values SoftsignGradient::decompose(Rewriting& r) const {
  const Expression dy(r, r.input(1));
  const Expression magnitude(r, r.add(Abs{}, {r.input(0)}));
  return {dy / ((1 + magnitude) * (1 + magnitude))};
}

}  // namespace narrowgauge

NG_OPS(softsign, narrowgauge::Softsign, narrowgauge::SoftsignGradient)
