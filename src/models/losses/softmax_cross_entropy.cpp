// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/softmax_cross_entropy.h"

#include "models/losses/labels.h"
#include "models/losses/parts.h"
#include "models/losses/table.h"
#include "ops/axes/axes.h"
#include "ops/loss/negative_log_likelihood.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

namespace {

constexpr std::string_view loss_name = "softmax_cross_entropy";

// Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2016, section 7: the
// label has 1 - smoothing of its probability, all classes together the rest. With weights w the
// mean over examples that count is over the sum of w[label], as in PyTorch.
class SmoothedLabels {
 public:
  SmoothedLabels(Network& network, Value labels, Value weights, const LabelOptions& options)
      : r_(formulas(network)), labels_(labels), weights_(weights), options_(options) {}

  // `loss` is that without smoothing.
  Value smooth(Expression loss, Value log_probabilities) {
    const Shape shape = r_.shape(log_probabilities);
    const double classes = static_cast<double>(shape[1].value());
    const Expression divisor = sum_over_labels(filled(shape, -1), weights_);
    const Expression spread = sum_over_labels(sum_over_classes(log_probabilities), absent);
    const double share = options_.smoothing;
    return (1 - share) * loss + share / classes * (spread / divisor);
  }

 private:
  Value filled(const Shape& shape, double value) {
    return r_.add(ExpandTo{shape}, {r_.scalar(value, DType::f32)});
  }
  // -x[label], of the labels that count.
  Expression sum_over_labels(Value x, Value weights) {
    const NegativeLogLikelihoodLoss op{ignored_label(options_), "sum"};
    return {r_, r_.add(op, {x, labels_, weights})};
  }
  // The weighted sum in the place of each class.
  Value sum_over_classes(Value x) {
    const Shape shape = r_.shape(x);
    Expression each(r_, x);
    if (!weights_.is_absent()) {
      Shape column(shape.size() - 1, 1);
      column[0] = shape[1];
      each = each * Expression{r_, r_.add(ReshapeTo{column}, {weights_})};
    }
    return r_.add(ExpandTo{shape}, {each.apply(ReduceSum{}, r_.constant(list_of(Dims{1})))});
  }

  Rewriting r_;
  Value labels_, weights_;
  const LabelOptions& options_;
};

}  // namespace

Loss softmax_cross_entropy(LabelOptions options) {
  check(loss_name, options);
  return [=](Network& network, Value logits) -> Value {
    const Value labels = labels_of_classes(network, loss_name, logits);
    const Value weights = weights_of_classes(network, loss_name, logits, options);
    const Value loss =
        network.apply(SoftmaxCrossEntropyLoss{.ignore_index = ignored_label(options)},
                      {logits, labels, weights}, options.smoothing > 0 ? "hard_loss" : "loss");
    if (options.smoothing == 0) return loss;
    SmoothedLabels smoothed(network, labels, weights, options);
    Rewriting r = formulas(network);
    return smoothed.smooth({r, loss}, {loss.node, 1});
  };
}

namespace {
Loss make_softmax_cross_entropy(LossArguments& arguments) {
  return softmax_cross_entropy(label_options(arguments));
}
}  // namespace

}  // namespace narrowgauge

NG_LOSS(softmax_cross_entropy, "softmax_cross_entropy", "cross entropy of logits of classes",
        make_softmax_cross_entropy)
