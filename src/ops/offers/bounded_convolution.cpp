// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/bounded_convolution.h"

#include "ir/reason.h"
#include "kernels/cpu/depthwise/narrow_depthwise.h"
#include "kernels/cpu/images/narrow_image.h"
#include "ops/offers/contraction.h"

namespace narrowgauge {

BoundedRequest unbounded(const ConvolutionRequest& request) {
  const Convolution& c = request.convolution;
  cpu::BoundedConvolution bounded{c.views(), c.window};
  bounded.threads = request.request.target.threads;
  bounded.lasting = lasting_inputs(request.request, request.inputs);
  return {request.request, c.math, std::move(bounded), request.inputs};
}

namespace {

using Reason = std::string (*)(const cpu::BoundedConvolution&, Isa);
using Prepare = cpu::Prepared (*)(const cpu::BoundedConvolution&);

Offer offer_bounded(const BoundedRequest& request, Reason reason_of, Prepare prepare) {
  const Target& target = request.request.target;
  const cpu::BoundedConvolution& c = request.convolution;
  std::string reason = first_reason(
      [&] { return way_reason(Way::exact, request.math, c.views.x.dtype, target); },
      [&] { return storage_reason(request.request); }, [&] { return reason_of(c, target.isa); });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared([c, prepare] { return prepare(c); }, request.inputs);
}

Offer offer_forward(const ConvolutionRequest& request, Offer (*offer)(const BoundedRequest&)) {
  if (request.convolution.pass != cpu::ConvolutionPass::forward)
    return Offer::decline("a gradient");
  return offer(unbounded(request));
}

}  // namespace

Offer bounded_depthwise(const BoundedRequest& request) {
  return offer_bounded(request, cpu::narrow_depthwise_reason, cpu::prepare_narrow_depthwise);
}
Offer bounded_image(const BoundedRequest& request) {
  return offer_bounded(request, cpu::narrow_image_reason, cpu::prepare_narrow_image);
}

Offer depthwise_convolution(const ConvolutionRequest& request) {
  return offer_forward(request, bounded_depthwise);
}
Offer image_by_vectors(const ConvolutionRequest& request) {
  return offer_forward(request, bounded_image);
}

}  // namespace narrowgauge
