// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise/trigonometric.h"

#include "ops/pointwise/expression.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

Expression input(Gradient& g) { return {g, g.input(0)}; }
Expression output_gradient(Gradient& g) { return {g, g.output_gradient()}; }

}  // namespace

Values Tan::gradient(Gradient& g) const {
  const Expression y(g, g.output()), dy = output_gradient(g);
  return {dy * (1 + y * y)};
}

Values Asin::gradient(Gradient& g) const {
  const Expression x = input(g), dy = output_gradient(g);
  return {dy / sqrt(1 - x * x)};
}

Values Acos::gradient(Gradient& g) const {
  const Expression x = input(g), dy = output_gradient(g);
  return {-(dy / sqrt(1 - x * x))};
}

Values Atan::gradient(Gradient& g) const {
  const Expression x = input(g), dy = output_gradient(g);
  return {dy / (1 + x * x)};
}

Values Sinh::gradient(Gradient& g) const {
  const Expression x = input(g), dy = output_gradient(g);
  return {dy * x.apply(Cosh{})};
}

Values Cosh::gradient(Gradient& g) const {
  const Expression x = input(g), dy = output_gradient(g);
  return {dy * x.apply(Sinh{})};
}

Values Asinh::gradient(Gradient& g) const {
  const Expression x = input(g), dy = output_gradient(g);
  return {dy / sqrt(x * x + 1)};
}

Values Acosh::gradient(Gradient& g) const {
  const Expression x = input(g), dy = output_gradient(g);
  return {dy / sqrt(x * x - 1)};
}

Values Atanh::gradient(Gradient& g) const {
  const Expression x = input(g), dy = output_gradient(g);
  return {dy / (1 - x * x)};
}

}  // namespace narrowgauge

NG_OPS(trigonometric, narrowgauge::Tan, narrowgauge::Asin, narrowgauge::Acos, narrowgauge::Atan,
       narrowgauge::Sinh, narrowgauge::Cosh, narrowgauge::Asinh, narrowgauge::Acosh,
       narrowgauge::Atanh)
