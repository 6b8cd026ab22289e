// SPDX-License-Identifier: Apache-2.0
#include "ops/math/arithmetic.h"

#include <algorithm>

#include "narrowgauge/graph.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/math/rounding.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Of two lists, or of a list and one number, entry by entry.
template <class Operation>
std::optional<Shape> combined(const Inference& in, const Operation& operation) {
  const Shape *const a = in.numbers(0), *const b = in.numbers(1);
  if (!a || !b || a->empty() || b->empty()) return {};
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return {};
  Shape result;
  for (std::size_t i = 0; i < std::max(a->size(), b->size()); ++i)
    result.push_back(operation((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
  return result;
}

}  // namespace

std::optional<Shape> Add::numbers(const Inference& in) const {
  return combined(in, [](const Dim& a, const Dim& b) { return a + b; });
}

std::optional<Shape> Sub::numbers(const Inference& in) const {
  return combined(in, [](const Dim& a, const Dim& b) { return a - b; });
}

std::optional<Shape> Mul::numbers(const Inference& in) const {
  return combined(in, [](const Dim& a, const Dim& b) { return a * b; });
}

// Dimensions divide downwards, integers towards zero: of numbers that are not sizes nothing is
// told.
std::optional<Shape> Div::numbers(const Inference& in) const {
  const auto is_size = [](const Dim& dim) { return !dim.is_known() || dim.value() >= 0; };
  bool sizes = true;
  std::optional<Shape> result = combined(in, [&](const Dim& a, const Dim& b) {
    sizes = sizes && is_size(a) && is_size(b) && b != Dim(0);
    return sizes ? a / b : Dim(0);
  });
  return sizes ? result : std::nullopt;
}

namespace {

// The gradient of each input of a broadcasting op, from make(0) and make(1) if it is wanted.
template <class Make>
Values broadcast_gradients(Gradient& g, const Make& make) {
  Values result;
  for (int i = 0; i < g.input_count(); ++i)
    result.push_back(g.wants(i) ? reduce_to(g, make(i), g.input(i)) : absent);
  return result;
}

}  // namespace

Values Add::gradient(Gradient& g) const {
  return broadcast_gradients(g, [&](int) { return g.output_gradient(); });
}

Values Sub::gradient(Gradient& g) const {
  return broadcast_gradients(
      g, [&](int i) { return i == 0 ? g.output_gradient() : g.add(Neg{}, {g.output_gradient()}); });
}

Values Mul::gradient(Gradient& g) const {
  return broadcast_gradients(g, [&](int i) {
    return g.add(Mul{}, {g.output_gradient(), g.input(1 - i)});
  });
}

// d(a / b) = da / b - db (a / b) / b
Values Div::gradient(Gradient& g) const {
  const Value scaled = g.add(Div{}, {g.output_gradient(), g.input(1)});
  return broadcast_gradients(g, [&](int i) {
    return i == 0 ? scaled : g.add(Neg{}, {g.add(Mul{}, {scaled, g.output()})});
  });
}

Values Neg::gradient(Gradient& g) const { return {g.add(Neg{}, {g.output_gradient()})}; }

Values Abs::gradient(Gradient& g) const {
  return {g.add(Mul{}, {g.output_gradient(), g.add(Sign{}, {g.input(0)})})};
}

// d(1 / x) = -dx / x^2
Values Reciprocal::gradient(Gradient& g) const {
  const Value scaled = g.add(Mul{}, {g.output_gradient(), g.output()});
  return {g.add(Neg{}, {g.add(Mul{}, {scaled, g.output()})})};
}

// d sqrt(x) = dx / (2 sqrt(x))
Values Sqrt::gradient(Gradient& g) const {
  const Value half = g.scalar(0.5, g.type(g.input(0)).dtype);
  return {g.add(Div{}, {g.add(Mul{}, {g.output_gradient(), half}), g.output()})};
}

}  // namespace narrowgauge

NG_OPS(arithmetic, narrowgauge::Add, narrowgauge::Sub, narrowgauge::Mul, narrowgauge::Div,
       narrowgauge::Neg, narrowgauge::Abs, narrowgauge::Reciprocal, narrowgauge::Sqrt)
