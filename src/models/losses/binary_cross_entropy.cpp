// SPDX-License-Identifier: Apache-2.0
#include "models/losses/parts.h"
#include "models/losses/table.h"
#include "ops/loss/sigmoid_cross_entropy.h"

namespace narrowgauge {

Loss binary_cross_entropy() {
  return [](Network& network, Value logits) {
    const Value labels = labels_like(network, logits);
    return mean_of_all(network,
                       network.apply(SigmoidCrossEntropy{}, {logits, labels}, "cross_entropy"));
  };
}

namespace {
Loss make_binary_cross_entropy(LossArguments&) { return binary_cross_entropy(); }
}  // namespace

}  // namespace narrowgauge

NG_LOSS(binary_cross_entropy, "binary_cross_entropy", "cross entropy of logits of yes or no",
        make_binary_cross_entropy)
