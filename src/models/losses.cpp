// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/network.h"
#include "ops/loss/sigmoid_cross_entropy.h"
#include "ops/loss/softmax_cross_entropy.h"
#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"

namespace narrowgauge {

namespace {

Value mean_of_all(Network& network, Value x, std::string name) {
  ReduceMean op;
  op.keepdims = 0;
  return network.apply(op, {x}, std::move(name));
}

}  // namespace

Loss softmax_cross_entropy() {
  return [](Network& network, Value logits) {
    require(network.shape(logits).size() == 2, "softmax cross entropy: expected [N,classes], got ",
            network.shape(logits));
    const Value labels = network.input("labels", {network.shape(logits)[0]}, DType::i64);
    return network.apply(SoftmaxCrossEntropyLoss{}, {logits, labels}, network.graph().unique_name("loss"));
  };
}

// Start and end lie along the axis after the classes, so one loss takes the mean over both.
Loss span_cross_entropy() {
  return [](Network& network, Value logits) {
    const Shape& scores = network.shape(logits);
    require(scores.size() == 3 && scores[2] == Dim(2),
            "span cross entropy: expected [N,positions,2], got ", scores);
    const Value labels = network.input("labels", {scores[0], 2}, DType::i64);
    return network.apply(SoftmaxCrossEntropyLoss{}, {logits, labels}, network.graph().unique_name("loss"));
  };
}

Loss mean_squared_error() {
  return [](Network& network, Value prediction) {
    const Value labels = network.input("labels", network.shape(prediction));
    const Value difference = network.apply(Sub{}, {prediction, labels}, "difference");
    const Value square = network.apply(Mul{}, {difference, difference}, "square");
    return mean_of_all(network, square, network.graph().unique_name("loss"));
  };
}

Loss binary_cross_entropy() {
  return [](Network& network, Value logits) {
    const Value labels = network.input("labels", network.shape(logits));
    const Value each = network.apply(SigmoidCrossEntropy{}, {logits, labels}, "cross_entropy");
    return mean_of_all(network, each, network.graph().unique_name("loss"));
  };
}

Loss parse_loss(std::string_view name) {
  if (name == "softmax-cross-entropy") return softmax_cross_entropy();
  if (name == "mean-squared-error") return mean_squared_error();
  if (name == "binary-cross-entropy") return binary_cross_entropy();
  throw UsageError(
      concat("loss: expected softmax-cross-entropy, mean-squared-error or "
             "binary-cross-entropy, got '",
             name, '\''));
}

std::vector<std::string> loss_names() {
  return {"softmax-cross-entropy", "mean-squared-error", "binary-cross-entropy"};
}

Loss loss_output(std::string name) {
  return [name = std::move(name)](Network& network, Value) {
    const Value loss = network.find_output(name);
    const TensorType& type = network.graph().type(loss);
    const std::int64_t elements = is_known(type.shape) ? element_count(known_dims(type.shape)) : 0;
    require(type.dtype == DType::f32 && elements == 1, "loss: expected output '", name,
            "' to be a f32 of one element, it is ", type);
    return type.shape.empty() ? loss : network.reshape(loss, {});
  };
}

}  // namespace narrowgauge
