// SPDX-License-Identifier: Apache-2.0
#include "models/losses/parts.h"
#include "models/losses/table.h"
#include "ops/axes/axes.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

// A label of 0 contributes nothing: the limit of y log(y).
Loss kl_divergence() {
  return [](Network& network, Value prediction) {
    const Shape shape = network.shape(prediction);
    require(!shape.empty(), "kl_divergence: expected logarithms of probabilities [N,...], got ",
            network.graph().type(prediction));
    Rewriting r = formulas(network);
    const Expression labels(r, labels_like(network, prediction));
    const Expression logarithm = log(where(labels > 0, labels, 1));
    const Expression each = labels * (logarithm - Expression{r, prediction});
    const Dim rest = element_count(Shape(shape.begin() + 1, shape.end()));
    const Value rows = r.add(ReshapeTo{{shape[0], rest}}, {each});
    const Value sums = r.add(ReduceSum{.keepdims = 0}, {rows, r.constant(list_of(Dims{1}))});
    return mean_of_all(network, sums);
  };
}

namespace {
Loss make_kl_divergence(LossArguments&) { return kl_divergence(); }
}  // namespace

}  // namespace narrowgauge

NG_LOSS(kl_divergence, "kl_divergence", "divergence of log probabilities from probabilities",
        make_kl_divergence)
