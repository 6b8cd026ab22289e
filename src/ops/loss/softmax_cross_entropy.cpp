// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/softmax_cross_entropy.h"

#include "narrowgauge/graph.h"
#include "ops/loss/negative_log_likelihood.h"
#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"
#include "ops/nn/softmax.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The shape of the losses; inputs are scores, labels and weights from `first` on.
template <class Op>
Shape softmax_cross_entropy_shape(const Op& op, const Inference& in, int first) {
  constexpr std::string_view name = Op::info.name;
  require(op.reduction == "none" || op.reduction == "mean" || op.reduction == "sum", name,
          ": reduction must be none, mean or sum, got '", op.reduction, "'");
  const Shape scores = in.shape(first);
  require(scores.size() >= 2, name, ": expected scores [N, C, ...], got ", in.type(first));
  Shape labels = scores;
  labels.erase(labels.begin() + 1);
  require(in.shape(first + 1) == labels, name, ": expected labels of ", labels, " for scores ",
          scores, ", got ", in.type(first + 1));
  if (in.has(first + 2))
    require(in.shape(first + 2) == Shape{scores[1]}, name, ": expected a weight for each of ",
            scores[1], " classes, got ", in.type(first + 2));
  return op.reduction == "none" ? labels : Shape{};
}

}  // namespace

TensorTypes SoftmaxCrossEntropyLoss::infer(const Inference& in) const {
  return {{in.dtype(0), softmax_cross_entropy_shape(*this, in, 0)}, in.type(0)};
}

TensorTypes SoftmaxCrossEntropyLossGradient::infer(const Inference& in) const {
  const Shape loss = softmax_cross_entropy_shape(*this, in, 1);
  require(in.shape(0) == loss, "SoftmaxCrossEntropyLossGradient: expected dy of ", loss, ", got ",
          in.type(0));
  return {in.type(1)};
}

Values SoftmaxCrossEntropyLoss::gradient(Gradient& g) const {
  Values gradients(3);
  if (g.has_output_gradient(0))
    gradients[0] = g.add(SoftmaxCrossEntropyLossGradient{ignore_index, reduction},
                         {g.output_gradient(0), g.input(0), g.input(1), g.input(2)});
  if (!g.has_output_gradient(1)) return gradients;
  const Value more = g.add(LogSoftmaxGradient{.axis = 1}, {g.output(1), g.output_gradient(1)});
  gradients[0] = gradients[0].is_absent() ? more : g.add(Add{}, {gradients[0], more});
  return gradients;
}

// With p = softmax(scores) and c the factor of each label, dscores = (p - one_hot) c dy. So the
// gradient v of dscores gives dy the loss -sum c (v - sum_classes v p)[label], and the scores
// softmax's gradient of v c dy.
Values SoftmaxCrossEntropyLossGradient::gradient(Gradient& g) const {
  const Value v = g.output_gradient(), dy = g.input(0), labels = g.input(2), weights = g.input(3);
  const Value p = g.add(Softmax{.axis = 1}, {g.input(1)});
  const Value classes = g.constant(list_of(Dims{1}));
  Values gradients = g.absent_inputs();
  if (g.wants(0)) {
    const Value mean = g.add(ReduceSum{}, {g.add(Mul{}, {v, p}), classes});
    gradients[0] = g.add(NegativeLogLikelihoodLoss{ignore_index, reduction},
                         {g.add(Sub{}, {v, mean}), labels, weights});
  }
  if (g.wants(1)) {
    const NegativeLogLikelihoodLossGradient at_label{ignore_index, reduction, g.shape(v)};
    const Value factor = g.add(ReduceSum{}, {g.add(at_label, {dy, labels, weights}), classes});
    gradients[1] =
        g.add(SoftmaxGradient{.axis = 1}, {p, g.add(Neg{}, {g.add(Mul{}, {v, factor})})});
  }
  return gradients;
}

}  // namespace narrowgauge

NG_OPS(softmax_cross_entropy, narrowgauge::SoftmaxCrossEntropyLoss,
       narrowgauge::SoftmaxCrossEntropyLossGradient)
