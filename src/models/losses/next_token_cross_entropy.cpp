// SPDX-License-Identifier: Apache-2.0
#include "models/losses/table.h"
#include "narrowgauge/language_models.h"
#include "ops/loss/softmax_cross_entropy.h"

namespace narrowgauge {

// Tokens of all windows stand as rows, whose classes lie side by side in memory.
Loss next_token_cross_entropy() {
  constexpr std::int64_t no_label = -100;
  return [](Network& network, Value logits) {
    const Shape shape = network.shape(logits);
    require(shape.size() == 3, "next token cross entropy: expected [N,sequence,vocabulary], got ",
            shape);
    const Dim tokens = shape[0] * shape[1];
    const Value labels = network.input("labels", {shape[0], shape[1]}, DType::i64);
    return network.apply(SoftmaxCrossEntropyLoss{.ignore_index = no_label},
                         {network.reshape(logits, {tokens, shape[2]}, "token_logits"),
                          network.reshape(labels, {tokens}, "token_labels")},
                         "loss");
  };
}

namespace {
Loss make_next_token_cross_entropy(LossArguments&) { return next_token_cross_entropy(); }
}  // namespace

}  // namespace narrowgauge

NG_LOSS(next_token_cross_entropy, "next_token_cross_entropy", "cross entropy of following tokens",
        make_next_token_cross_entropy)
