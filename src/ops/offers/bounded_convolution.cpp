// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/bounded_convolution.h"

#include "ir/reason.h"
#include "kernels/cpu/depthwise/narrow_depthwise.h"
#include "ops/offers/contraction.h"

namespace narrowgauge {

BoundedRequest unbounded(const ConvolutionRequest& request) {
  const Convolution& c = request.convolution;
  cpu::BoundedConvolution bounded{c.views(), c.window};
  bounded.threads = request.request.target.threads;
  bounded.lasting = lasting_inputs(request.request, request.inputs);
  return {request.request, c.math, std::move(bounded), request.inputs};
}

Offer bounded_depthwise(const BoundedRequest& request) {
  const Target& target = request.request.target;
  const cpu::BoundedConvolution& c = request.convolution;
  std::string reason =
      first_reason([&] { return way_reason(Way::exact, request.math, c.views.x.dtype, target); },
                   [&] { return storage_reason(request.request); },
                   [&] { return narrow_depthwise_reason(c, target.isa); });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared([c] { return prepare_narrow_depthwise(c); }, request.inputs);
}

Offer depthwise_convolution(const ConvolutionRequest& request) {
  if (request.convolution.pass != cpu::ConvolutionPass::forward)
    return Offer::decline("a gradient");
  return bounded_depthwise(unbounded(request));
}

}  // namespace narrowgauge
