// SPDX-License-Identifier: Apache-2.0
#include "ops/math/min_max.h"

#include "base/enumerate.h"
#include "narrowgauge/graph.h"
#include "ops/math/arithmetic.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/math/comparison.h"
#include "ops/math/where.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

Value choose(Gradient& g, Value condition, Value yes) {
  return g.add(Where{}, {condition, yes, g.scalar(0, g.type(yes).dtype)});
}

// Inputs that equal the result share its gradient evenly.
Values extreme_gradient(Gradient& g) {
  const Value y = g.output(), dy = g.output_gradient();
  if (g.input_count() == 1) return {dy};
  const Value one = g.scalar(1, g.type(y).dtype);
  Values winners;
  Value count = absent;
  for (int i = 0; i < g.input_count(); ++i) {
    winners.push_back(g.add(Equal{}, {g.input(i), y}));
    const Value counted = choose(g, winners.back(), one);
    count = i == 0 ? counted : g.add(Add{}, {count, counted});
  }
  const Value share = g.add(Div{}, {dy, count});
  Values result;
  for (const auto& [i, winner] : enumerate(winners))
    result.push_back(g.wants(i) ? reduce_to(g, choose(g, winner, share), g.input(i)) : absent);
  return result;
}

}  // namespace

Values Min::gradient(Gradient& g) const { return extreme_gradient(g); }
Values Max::gradient(Gradient& g) const { return extreme_gradient(g); }

TensorTypes Clip::infer(const Inference& in) const {
  for (int i = 1; i < in.count(); ++i)
    require(!in.has(i) || in.rank(i) == 0, "Clip: ", i == 1 ? "min" : "max",
            " must be a scalar, got ", in.has(i) ? in.type(i) : TensorType{});
  return {in.type(0)};
}

Values Clip::gradient(Gradient& g) const {
  const Value x = g.input(0), low = g.input(1), high = g.input(2), dy = g.output_gradient();
  Values result(3);
  if (g.wants(0)) result[0] = g.add(ClipGradient{}, {x, dy, low, high});
  if (g.wants(1)) {
    Value below = choose(g, g.add(Less{}, {x, low}), dy);
    if (g.has_input(2)) below = choose(g, g.add(LessOrEqual{}, {low, high}), below);
    result[1] = reduce_to(g, below, low);
  }
  if (g.wants(2)) {
    const Value raised = g.has_input(1) ? g.add(Max{}, {x, low}) : x;
    result[2] = reduce_to(g, choose(g, g.add(Greater{}, {raised, high}), dy), high);
  }
  return result;
}

// The gradient is linear in dy, and constant in x and the limits almost everywhere.
Values ClipGradient::gradient(Gradient& g) const {
  Values result(4);
  result[1] = g.add(ClipGradient{}, {g.input(0), g.output_gradient(), g.input(2), g.input(3)});
  return result;
}

}  // namespace narrowgauge

NG_OPS(min_max, narrowgauge::Min, narrowgauge::Max, narrowgauge::Clip, narrowgauge::ClipGradient)
