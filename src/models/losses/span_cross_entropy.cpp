// SPDX-License-Identifier: Apache-2.0
#include "models/losses/table.h"
#include "narrowgauge/network.h"
#include "ops/loss/softmax_cross_entropy.h"

namespace narrowgauge {

// Start and end lie along the axis after the classes, so one loss takes the mean over both.
Loss span_cross_entropy() {
  return [](Network& network, Value logits) {
    const Shape& scores = network.shape(logits);
    require(scores.size() == 3 && scores[2] == Dim(2),
            "span cross entropy: expected [N,positions,2], got ", scores);
    const Value labels = network.input("labels", {scores[0], 2}, DType::i64);
    return network.apply(SoftmaxCrossEntropyLoss{}, {logits, labels}, "loss");
  };
}

namespace {
Loss make_span_cross_entropy(LossArguments&) { return span_cross_entropy(); }
}  // namespace

}  // namespace narrowgauge

NG_LOSS(span_cross_entropy, "span_cross_entropy", "cross entropy of the ends of a span",
        make_span_cross_entropy)
