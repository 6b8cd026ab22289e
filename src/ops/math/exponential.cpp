// SPDX-License-Identifier: Apache-2.0
#include "ops/math/exponential.h"

#include "ops/elementwise/expression.h"
#include "ops/math/arithmetic.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/math/cast.h"
#include "ops/table.h"

namespace narrowgauge {

Values Exp::gradient(Gradient& g) const {
  return {g.add(Mul{}, {g.output_gradient(), g.output()})};
}

Values Log::gradient(Gradient& g) const {
  return {g.add(Div{}, {g.output_gradient(), g.input(0)})};
}

Values Sin::gradient(Gradient& g) const {
  const Expression x(g, g.input(0)), dy(g, g.output_gradient());
  return {dy * x.apply(Cos{})};
}

Values Cos::gradient(Gradient& g) const {
  const Expression x(g, g.input(0)), dy(g, g.output_gradient());
  return {-(dy * x.apply(Sin{}))};
}

Values Pow::gradient(Gradient& g) const {
  const Value x = g.input(0), dz = g.output_gradient();
  const DType dtype = g.type(x).dtype, exponent_dtype = g.type(g.input(1)).dtype;
  Value y = g.input(1);
  if (exponent_dtype != dtype) y = g.add(Cast{.to = dtype}, {y});
  Values result(2);
  if (g.wants(0)) result[0] = reduce_to(g, g.add(PowGradientBase{}, {x, y, dz}), x);
  if (g.wants(1)) {
    result[1] = reduce_to(g, g.add(PowGradientExponent{}, {x, g.output(), dz}), y);
    if (exponent_dtype != dtype) result[1] = g.add(Cast{.to = exponent_dtype}, {result[1]});
  }
  return result;
}

Values PowGradientBase::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), y(r, r.input(1)), dz(r, r.input(2));
  return {where(y == 0, 0, dz * (y * pow(x, y - 1)))};
}

Values PowGradientExponent::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), z(r, r.input(1)), dz(r, r.input(2));
  return {where(z == 0, 0, dz * (z * log(x)))};
}

}  // namespace narrowgauge

NG_OPS(exponential, narrowgauge::Exp, narrowgauge::Log, narrowgauge::Sin, narrowgauge::Cos,
       narrowgauge::Pow, narrowgauge::PowGradientBase, narrowgauge::PowGradientExponent)
