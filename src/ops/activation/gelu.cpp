// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/gelu.h"

#include <numbers>

#include "ops/activation/sigmoid.h"
#include "ops/elementwise/expression.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

void check_approximation(std::string_view op, const std::string& approximate) {
  require(approximate == "none" || approximate == "tanh", op,
          ": approximate must be none or tanh, got '", approximate, "'");
}

}  // namespace

TensorTypes Gelu::infer(const Inference& in) const {
  check_approximation("Gelu", approximate);
  return elementwise_types(in);
}

Elementwise Gelu::elementwise() {
  return make_elementwise<Gelu, 1>(
      "(T x)", "approximate == \"tanh\" ? TanhGelu{}.formula(x) : ExactGelu{}.formula(x)");
}

Values Gelu::gradient(Gradient& g) const {
  return {g.add(GeluGradient{approximate}, {g.input(0), g.output_gradient()})};
}

TensorTypes GeluGradient::infer(const Inference& in) const {
  check_approximation("GeluGradient", approximate);
  return same_shape_types(in);
}

Elementwise GeluGradient::elementwise() {
  return make_elementwise<GeluGradient, 2>(
      "(T x, T dy)",
      "approximate == \"tanh\" ? TanhGelu{}.formula(x, dy) : ExactGelu{}.formula(x, dy)");
}

Values GeluGradient::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), dy(r, r.input(1));
  if (approximate == "tanh") {
    using detail::TanhGelu;
    const Expression square = x * x;
    const Expression s = (TanhGelu::scale * x * (1 + TanhGelu::cubic * square)).apply(Sigmoid{});
    const Expression inner_slope = TanhGelu::scale * (1 + 3 * TanhGelu::cubic * square);
    return {dy * (s + x * inner_slope * s * (1 - s))};
  }
  const Expression distribution = 0.5 + 0.5 * (x / std::numbers::sqrt2).apply(Erf{});
  const Expression density = exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return {dy * (distribution + x * density)};
}

Values Erf::gradient(Gradient& g) const {
  return {g.add(ErfGradient{}, {g.input(0), g.output_gradient()})};
}

Values ErfGradient::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0)), dy(r, r.input(1));
  return {2 * std::numbers::inv_sqrtpi * exp(-(x * x)) * dy};
}

}  // namespace narrowgauge

NG_OPS(gelu, narrowgauge::Gelu, narrowgauge::GeluGradient, narrowgauge::Erf,
       narrowgauge::ErfGradient)
