// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/sigmoid.h"

#include "ops/elementwise/expression.h"
#include "ops/table.h"

namespace narrowgauge {

Values Sigmoid::gradient(Gradient& g) const {
  return {g.add(SigmoidGradient{}, {g.output(), g.output_gradient()})};
}

Values SigmoidGradient::decompose(Rewriting& r) const {
  const Expression y(r, r.input(0)), dy(r, r.input(1));
  return {dy * y * (1 - y)};
}

Values Tanh::gradient(Gradient& g) const {
  return {g.add(TanhGradient{}, {g.output(), g.output_gradient()})};
}

Values TanhGradient::decompose(Rewriting& r) const {
  const Expression y(r, r.input(0)), dy(r, r.input(1));
  return {dy * (1 - y) * (1 + y)};
}

Values Softplus::gradient(Gradient& g) const {
  return {g.add(SoftplusGradient{}, {g.input(0), g.output_gradient()})};
}

Values SoftplusGradient::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), dy(r, r.input(1));
  return {dy * x.apply(Sigmoid{})};
}

Values HardSigmoid::gradient(Gradient& g) const {
  return {g.add(HardSigmoidGradient{alpha, beta}, {g.input(0), g.output_gradient()})};
}

// The gradient is linear in dy, and constant in x almost everywhere.
Values HardSigmoidGradient::gradient(Gradient& g) const {
  return {absent, g.add(HardSigmoidGradient{alpha, beta}, {g.input(0), g.output_gradient()})};
}

}  // namespace narrowgauge

NG_OPS(sigmoid, narrowgauge::Sigmoid, narrowgauge::SigmoidGradient, narrowgauge::Tanh,
       narrowgauge::TanhGradient, narrowgauge::Softplus, narrowgauge::SoftplusGradient,
       narrowgauge::HardSigmoid, narrowgauge::HardSigmoidGradient)
