// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/negative_log_likelihood.h"

#include "samples/loss/softmax_cross_entropy.h"

namespace narrowgauge {

namespace {

std::vector<Sample<NegativeLogLikelihoodLoss>> negative_log_likelihood_loss_samples() {
  std::vector<Sample<NegativeLogLikelihoodLoss>> all;
  for (const auto& like : softmax_cross_entropy_loss_samples())
    all.push_back({{like.op.ignore_index, like.op.reduction}, like.inputs});
  return all;
}

std::vector<Sample<NegativeLogLikelihoodLossGradient>>
negative_log_likelihood_loss_gradient_samples() {
  std::vector<Sample<NegativeLogLikelihoodLossGradient>> all;
  for (const auto& forward : negative_log_likelihood_loss_samples()) {
    const Shape loss = forward.op.reduction == "none" ? forward.inputs[1].type.shape : Shape{};
    std::vector<SampleInput> inputs{{{DType::f32, loss}}};
    inputs.insert(inputs.end(), forward.inputs.begin() + 1, forward.inputs.end());
    all.push_back({{forward.op.ignore_index, forward.op.reduction, forward.inputs[0].type.shape},
                   std::move(inputs)});
  }
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(negative_log_likelihood, negative_log_likelihood_loss_samples(),
           negative_log_likelihood_loss_gradient_samples())
