// SPDX-License-Identifier: Apache-2.0
// Convolutions and products by weights that last, on tiles of pixels.
#include "ir/reason.h"
#include "kernels/cpu/tiles/pixel_convolution.h"
#include "ops/offers/contraction.h"
#include "ops/offers/convolution.h"
#include "ops/offers/product.h"

namespace narrowgauge {

std::string pixel_tiles_reason(const Convolution& c, const Request& request) {
  return first_reason(
      [&] { return contraction_reason(Way::tiles, request); },
      [&] { return unless(c.pass == cpu::ConvolutionPass::forward, "a gradient"); },
      [&] { return unless(c.w.lasts, "weights that may change"); },
      [&] { return pixel_convolution_reason(c.views(), c.window, request.target.isa); });
}

Offer convolution_on_pixel_tiles(const ConvolutionRequest& request) {
  const Convolution& c = request.convolution;
  std::string reason = pixel_tiles_reason(c, request.request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared(
      [views = c.views(), window = c.window, options = contraction_options(request.request)] {
        return prepare_pixel_convolution(views, window, {}, options);
      },
      request.inputs);
}

namespace {

// A matrix of rows, whatever stands before its last axis, as images of one pixel.
cpu::View rows_as_images(const cpu::View& view) {
  const std::int64_t columns = view.dims.back();
  return cpu::dense_view(view.dtype,
                         {columns == 0 ? 0 : element_count(view.dims) / columns, columns, 1});
}

bool is_dense(const cpu::View& view) { return view.strides == dense_strides(view.dims); }

cpu::ConvolutionViews product_of_pixels(const cpu::MatMulViews& views) {
  const cpu::View& b = views.b;
  return {rows_as_images(views.a),
          {b.dtype, {b.dims[1], b.dims[0], 1}, {b.strides[1], b.strides[0], 1}},
          rows_as_images(views.y),
          views.bias};
}

const cpu::ConvolutionWindow single_pixel{{1}, {1}, {0}, {0}, 1};

}  // namespace

Offer product_on_pixel_tiles(const ProductRequest& request) {
  const cpu::MatMulViews& views = request.views;
  std::string reason = first_reason(
      [&] { return request.scaled; },
      [&] { return contraction_reason(Way::tiles, request.request); },
      [&] {
        return unless(request.request.input(request.inputs[1]).lasts, "a matrix that may change");
      },
      [&] { return unless(views.b.dims.size() == 2, "several matrices"); },
      [&] { return unless(is_dense(views.a) && is_dense(views.y), "rows with gaps"); },
      [&] {
        return pixel_convolution_reason(product_of_pixels(views), single_pixel,
                                        request.request.target.isa);
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared(
      [pixels = product_of_pixels(views), options = contraction_options(request.request)] {
        return prepare_pixel_convolution(pixels, single_pixel, {}, options);
      },
      request.inputs);
}

}  // namespace narrowgauge
