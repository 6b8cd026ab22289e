// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/convolution.h"

#include "ir/reason.h"
#include "kernels/cpu/floats/float_convolution.h"
#include "kernels/cpu/pairs/pair_products.h"
#include "ops/offers/contraction.h"
#include "ops/offers/pairs.h"
#include "ops/offers/tf32.h"

namespace narrowgauge {

cpu::ConvolutionViews Convolution::views() const {
  cpu::ConvolutionViews views{kernel_view(x), kernel_view(w), kernel_view(y), {}};
  if (bias) views.bias = kernel_view(*bias);
  return views;
}

std::string panels_reason(const ConvolutionRequest& request) {
  const Convolution& c = request.convolution;
  return first_reason([&] { return contraction_reason(Way::exact, request.request); },
                      [&] { return unless(c.pass == cpu::ConvolutionPass::forward, "a gradient"); },
                      [&] {
                        return float_convolution_reason(
                            c.views(), c.window, lasting_inputs(request.request, request.inputs),
                            request.request.target.isa);
                      });
}

Offer convolution_in_panels(const ConvolutionRequest& request) {
  std::string reason = panels_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Convolution& c = request.convolution;
  return offer_prepared(
      [views = c.views(), window = c.window, options = contraction_options(request.request)] {
        return prepare_float_convolution(views, window, {}, options);
      },
      request.inputs);
}

Offer convolution_in_onednn(const ConvolutionRequest& request) {
  std::string reason = contraction_reason(Way::exact, request.request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Convolution& c = request.convolution;
  cpu::ContractionOptions options = contraction_options(request.request);
  options.lasting = lasting_inputs(request.request, request.inputs);
  return offer_prepared([pass = c.pass, views = c.views(), window = c.window,
                         options] { return prepare_convolution(pass, views, window, options); },
                        request.inputs);
}

namespace {

Offer offer_convolution_pairs(cpu::PairFormat format, const ConvolutionRequest& request) {
  const Convolution& c = request.convolution;
  const cpu::ConvolutionViews views = c.views();
  std::string reason = first_reason(
      [&] { return pair_reason(format, request.request); },
      [&] {
        return pair_convolution_reason(format, c.pass, views, c.window, request.request.target.isa);
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared(
      [=, pass = c.pass, window = c.window, options = contraction_options(request.request)] {
        return prepare_pair_convolution(format, pass, views, window, options);
      },
      request.inputs);
}

}  // namespace

Offer convolution_in_pairs(const ConvolutionRequest& request) {
  return offer_convolution_pairs(cpu::PairFormat::bf16, request);
}
Offer convolution_in_dfp16(const ConvolutionRequest& request) {
  return offer_convolution_pairs(cpu::PairFormat::dfp16, request);
}

Offer convolution_in_tf32(const ConvolutionRequest& request) { return offer_tf32(request.request); }

}  // namespace narrowgauge
