// SPDX-License-Identifier: Apache-2.0
#include "samples/loss/softmax_cross_entropy.h"

namespace narrowgauge {

namespace {

SampleInput labels(Dims dims, std::int64_t classes, DType dtype = DType::i64) {
  Tensor tensor(dtype, std::move(dims));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>((i * 7 + 2) % classes));
  return sample(std::move(tensor));
}

}  // namespace

std::vector<Sample<SoftmaxCrossEntropyLoss>> softmax_cross_entropy_loss_samples() {
  using Op = SoftmaxCrossEntropyLoss;
  std::vector<Sample<Op>> all;
  for (const std::string_view reduction : {"none", "mean", "sum"}) {
    Op plain, weighted, ignoring;
    plain.reduction = weighted.reduction = ignoring.reduction = reduction;
    weighted.ignore_index = 2;
    ignoring.ignore_index = -1;
    all.push_back({plain, {sample("f32[6,10]"), labels({6}, 10)}});
    all.push_back(
        {weighted, {sample("f32[4,5]"), labels({4}, 5, DType::i32), sample("f32[5]", 0.25, 2)}});
    all.push_back({ignoring, {sample("f32[2,3,2,4]", -6, 6), labels({2, 2, 4}, 3)}});
  }
  return all;
}

namespace {

std::vector<Sample<SoftmaxCrossEntropyLossGradient>> softmax_cross_entropy_loss_gradient_samples() {
  std::vector<Sample<SoftmaxCrossEntropyLossGradient>> all;
  for (const auto& forward : softmax_cross_entropy_loss_samples()) {
    const SoftmaxCrossEntropyLoss& op = forward.op;
    const Shape loss = op.reduction == "none" ? forward.inputs[1].type.shape : Shape{};
    std::vector<SampleInput> inputs{{{DType::f32, loss}}};
    inputs.insert(inputs.end(), forward.inputs.begin(), forward.inputs.end());
    SoftmaxCrossEntropyLossGradient gradient;
    gradient.ignore_index = op.ignore_index;
    gradient.reduction = op.reduction;
    all.push_back({gradient, std::move(inputs)});
  }
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(softmax_cross_entropy, softmax_cross_entropy_loss_samples(),
           softmax_cross_entropy_loss_gradient_samples())
