// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/conv_pairs.h"

#include "ops/nn/conv.h"
#include "ops/nn/conv_window.h"
#include "ops/offers/contraction.h"
#include "ops/offers/pairs.h"

namespace narrowgauge {

namespace {

using cpu::ConvolutionPass;
using cpu::PairFormat;

// x, w and y as in ConvolutionViews.
struct Operands {
  const Operand &x, &w, &y;
};

template <class Op>
Offer offer(PairFormat format, const Request& request, ConvolutionPass pass,
            const Operands& operands, std::vector<int> inputs) {
  std::string reason = pair_reason(format, request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  cpu::ConvolutionViews views{
      kernel_view(operands.x), kernel_view(operands.w), kernel_view(operands.y), {}};
  if (inputs.size() > 2) views.bias = kernel_view(request.inputs[2]);
  const cpu::ConvolutionWindow window = kernel_window(case_of<Op>(request, operands.x, operands.w));
  reason = pair_convolution_reason(format, pass, views, window, request.target.isa);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared(
      [=, options = contraction_options(request)] {
        return prepare_pair_convolution(format, pass, views, window, options);
      },
      std::move(inputs));
}

}  // namespace

Offer offer_conv_pairs(PairFormat format, const Request& request) {
  const bool bias = request.inputs.size() > 2 && request.inputs[2].present;
  return offer<Conv>(format, request, ConvolutionPass::forward,
                     {request.inputs[0], request.inputs[1], request.outputs[0]},
                     bias ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1});
}

Offer offer_data_gradient_pairs(PairFormat format, const Request& request) {
  return offer<ConvDataGradient>(format, request, ConvolutionPass::data_gradient,
                                 {request.outputs[0], request.inputs[1], request.inputs[0]},
                                 {1, 0});
}

Offer offer_weight_gradient_pairs(PairFormat format, const Request& request) {
  return offer<ConvWeightGradient>(format, request, ConvolutionPass::weight_gradient,
                                   {request.inputs[0], request.outputs[0], request.inputs[1]},
                                   {0, 1});
}

}  // namespace narrowgauge
