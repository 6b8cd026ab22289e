// SPDX-License-Identifier: Apache-2.0
#include "models/losses/parts.h"
#include "models/losses/table.h"
#include "ops/activation/sigmoid.h"
#include "ops/axes/axes.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

Loss dice(double epsilon) {
  require_positive("dice", "epsilon", epsilon);
  return [=](Network& network, Value logits) {
    const Shape shape = network.shape(logits);
    require(shape.size() >= 2, "dice: expected logits [N,...] of rank 2 or more, got ",
            network.graph().type(logits));
    Rewriting r = formulas(network);
    const Value axes = r.constant(list_of(Dims{1}));
    const auto in_rows = [&](Value x) {
      const Dim rest = element_count(Shape(shape.begin() + 1, shape.end()));
      return Expression{r, r.add(ReshapeTo{{shape[0], rest}}, {x})};
    };
    const auto sum = [&](Expression x) { return x.apply(ReduceSum{.keepdims = 0}, axes); };
    const Expression y = in_rows(labels_like(network, logits));
    const Expression p = in_rows(logits).apply(Sigmoid{});
    const Expression overlap = 2 * sum(p * y) + epsilon;
    return mean_of_all(network, 1 - overlap / (sum(p * p) + sum(y * y) + epsilon));
  };
}

namespace {
Loss make_dice(LossArguments& arguments) { return dice(arguments.number("epsilon", 1)); }
}  // namespace

}  // namespace narrowgauge

NG_LOSS(dice, "dice", "what two shapes do not overlap", make_dice)
