// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantized_conv.h"

#include "base/parallel.h"
#include "kernels/cpu/bytes/quantized_tiles.h"
#include "kernels/cpu/bytes/woven_depthwise.h"
#include "kernels/cpu/images/quantized_image.h"
#include "kernels/cpu/onednn/quantized.h"
#include "ops/nn/conv_reference.h"
#include "ops/nn/conv_window.h"
#include "ops/no_gradient.h"
#include "ops/offers/contraction.h"
#include "ops/quantized/int8.h"
#include "ops/quantized/quantized_offer.h"
#include "ops/table.h"

namespace narrowgauge {

using namespace cpu;  // NOLINT: the names of inputs

TensorTypes QuantizedConv::infer(const Inference& in) const {
  const Shape& w = in.shape(quantized_w);
  return {quantized_type(in, output_shape(*this, in.shape(quantized_x), w), w[0],
                         quantized_end(*this))};
}

double QuantizedConv::flops(std::span<const TensorType> in, std::span<const TensorType> out) const {
  return convolution_flops(in[quantized_w], out[0]);
}

namespace {

QuantizedViews quantized_conv_views(const Request& request) {
  QuantizedViews views{kernel_view(request.input(quantized_x)),
                       kernel_view(request.input(quantized_w)),
                       kernel_view(request.output(0)),
                       {},
                       weights_last(request),
                       numbers_last(request)};
  if (input_given(request, quantized_residual))
    views.residual = kernel_view(request.input(quantized_residual));
  return views;
}

using QuantizedReason = std::string (*)(const QuantizedViews&, const ConvolutionWindow&,
                                        const QuantizedNumbers&, Isa);
using PrepareQuantized = Prepared (*)(const QuantizedViews&, const ConvolutionWindow&,
                                      const QuantizedNumbers&, int threads);

template <QuantizedReason reason_of, PrepareQuantized prepare>
Offer offer_quantized_conv(const Request& request) {
  std::string reason = storage_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const QuantizedViews views = quantized_conv_views(request);
  reason = quantized_convolution_reason(views);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto& op = request.as<QuantizedConv>();
  const auto window =
      kernel_window(case_of(op, request.input(quantized_x), request.input(quantized_w)));
  const QuantizedNumbers numbers = quantized_numbers(request, quantized_end(op));
  reason = reason_of(views, window, numbers, request.target.isa);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Offer offer = quantized_offer([=, threads = request.target.threads] {
    return prepare(views, window, numbers, threads > 0 ? threads : thread_count());
  });
  // Rows of a residual are read before y is stored in their place.
  if (views.residual && bits(views.residual->dtype) == bits(views.y.dtype) &&
      same_layout(*views.residual, views.y))
    offer.in_place = {{quantized_residual, 0}};
  return offer;
}

std::string no_reason(const QuantizedViews&, const ConvolutionWindow&, const QuantizedNumbers&,
                      Isa) {
  return {};
}

Offer offer_quantized_conv_onednn(const Request& request) {
  const auto& op = request.as<QuantizedConv>();
  std::string reason = saturation_reason(request);
  if (reason.empty()) reason = storage_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const QuantizedViews views = quantized_conv_views(request);
  const QuantizedNumbers numbers = quantized_numbers(request, quantized_end(op));
  reason = onednn_quantized_reason(views, numbers);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto window =
      kernel_window(case_of(op, request.input(quantized_x), request.input(quantized_w)));
  return quantized_offer([=, x_zero = known_x_zero(request), threads = request.target.threads] {
    return prepare_onednn_quantized(views, window, numbers, x_zero, threads);
  });
}

Offer quantized_conv_reference(const Request& request) {
  const auto& op = request.as<QuantizedConv>();
  const ConvolutionCase c = case_of(op, request.input(quantized_x), request.input(quantized_w));
  const QuantizedEnd end = quantized_end(op);
  return reference_offer(request, [c, end](const ReferenceViews& in, const ReferenceViews& out,
                                           const KernelCall&) {
    const Dims& y = out[0].dims();
    if (out[0].size() == 0) return;
    const Tensor sums =
        exact_sums(c, {quantized_x, quantized_w, quantized_x_zero, quantized_w_zero}, in, y);
    const std::int64_t pixels = out[0].size() / (y[0] * y[1]);
    for (std::int64_t i = 0; i < out[0].size(); ++i)
      store_quantized(in, out[0], i, i / pixels % y[1], static_cast<std::int64_t>(sums.at(i)), end);
  });
}

constexpr Kernel quantized_conv_kernels[] = {
    {"depthwise", offer_quantized_conv<woven_depthwise_reason, prepare_woven_depthwise>},
    {"image", offer_quantized_conv<quantized_image_reason, prepare_quantized_image>},
    {"int8 tiles", offer_quantized_conv<quantized_tiles_reason, prepare_quantized_tiles>},
    {"int8 rows", offer_quantized_conv<no_reason, prepare_quantized_convolution>},
    {"onednn", offer_quantized_conv_onednn},
    {"reference", quantized_conv_reference}};

}  // namespace

std::span<const Kernel> QuantizedConv::kernels() { return quantized_conv_kernels; }

}  // namespace narrowgauge

NG_OPS(quantized_conv, narrowgauge::QuantizedConv)
NG_NO_GRADIENT(quantized_conv, "whole numbers", narrowgauge::QuantizedConv)
