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

std::vector<Sample<SigmoidGradient>> SigmoidGradient::samples() {
  return gradient_samples<SigmoidGradient>(0, 1);
}

Values Tanh::gradient(Gradient& g) const {
  return {g.add(TanhGradient{}, {g.output(), g.output_gradient()})};
}

Values TanhGradient::decompose(Rewriting& r) const {
  const Expression y(r, r.input(0)), dy(r, r.input(1));
  return {dy * (1 - y) * (1 + y)};
}

std::vector<Sample<TanhGradient>> TanhGradient::samples() {
  return gradient_samples<TanhGradient>(-1, 1);
}

Values Softplus::gradient(Gradient& g) const {
  return {g.add(SoftplusGradient{}, {g.input(0), g.output_gradient()})};
}

Values SoftplusGradient::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), dy(r, r.input(1));
  return {dy * x.apply(Sigmoid{})};
}

std::vector<Sample<SoftplusGradient>> SoftplusGradient::samples() {
  return gradient_samples<SoftplusGradient>(-6, 6);
}

Values HardSigmoid::gradient(Gradient& g) const {
  return {g.add(HardSigmoidGradient{alpha, beta}, {g.input(0), g.output_gradient()})};
}

std::vector<Sample<HardSigmoid>> HardSigmoid::samples() {
  auto all = unary_samples<HardSigmoid>(-4, 4);
  all.push_back({{.alpha = 0.5, .beta = 0.25}, {sample("f32[33]")}});
  return all;
}

// The gradient is linear in dy, and constant in x almost everywhere.
Values HardSigmoidGradient::gradient(Gradient& g) const {
  return {absent, g.add(HardSigmoidGradient{alpha, beta}, {g.input(0), g.output_gradient()})};
}

std::vector<Sample<HardSigmoidGradient>> HardSigmoidGradient::samples() {
  return gradient_samples<HardSigmoidGradient>(-4, 4);
}

}  // namespace narrowgauge

NG_OPS(sigmoid, narrowgauge::Sigmoid, narrowgauge::SigmoidGradient, narrowgauge::Tanh,
       narrowgauge::TanhGradient, narrowgauge::Softplus, narrowgauge::SoftplusGradient,
       narrowgauge::HardSigmoid, narrowgauge::HardSigmoidGradient)
