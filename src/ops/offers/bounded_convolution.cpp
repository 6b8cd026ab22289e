// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/bounded_convolution.h"

#include "ir/reason.h"
#include "kernels/cpu/depthwise/narrow_depthwise.h"
#include "kernels/cpu/images/narrow_image.h"
#include "kernels/cpu/tiles/pixel_convolution.h"
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
using PrepareBounded = cpu::Prepared (*)(const cpu::BoundedConvolution&);

Offer offer_bounded(const BoundedRequest& request, Way way, Reason reason_of,
                    PrepareBounded prepare) {
  const Target& target = request.request.target;
  const cpu::BoundedConvolution& c = request.convolution;
  std::string reason = first_reason(
      [&] { return way_reason(way, request.math, c.views.x.dtype, target); },
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
  return offer_bounded(request, Way::exact, cpu::narrow_depthwise_reason,
                       cpu::prepare_narrow_depthwise);
}
Offer bounded_image(const BoundedRequest& request) {
  return offer_bounded(request, Way::exact, cpu::narrow_image_reason, cpu::prepare_narrow_image);
}

Offer bounded_pixel_tiles(const BoundedRequest& request) {
  Offer offer = offer_bounded(
      request, Way::tiles, cpu::pixel_convolution_reason,
      [](const cpu::BoundedConvolution& c) { return cpu::prepare_pixel_convolution(c); });
  // Rows of the residual, which lies as y does, are read before y is stored in their place.
  if (offer && request.convolution.residual)
    offer.in_place = {{request.inputs[cpu::bounded_residual], 0}};
  return offer;
}

Offer depthwise_convolution(const ConvolutionRequest& request) {
  return offer_forward(request, bounded_depthwise);
}
Offer convolution_on_pixel_tiles(const ConvolutionRequest& request) {
  return offer_forward(request, bounded_pixel_tiles);
}
Offer image_by_vectors(const ConvolutionRequest& request) {
  return offer_forward(request, bounded_image);
}

}  // namespace narrowgauge
