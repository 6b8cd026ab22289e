// SPDX-License-Identifier: Apache-2.0
// Products by constant matrices, on tiles of pixels.
#include "ir/reason.h"
#include "kernels/cpu/tiles/pixel_convolution.h"
#include "ops/offers/contraction.h"
#include "ops/offers/pixel_product.h"
#include "ops/offers/product.h"

namespace narrowgauge {

namespace {

cpu::View rows_as_images(const cpu::View& view) {
  const std::int64_t columns = view.dims.back();
  return cpu::dense_view(view.dtype,
                         {columns == 0 ? 0 : element_count(view.dims) / columns, columns, 1});
}

}  // namespace

cpu::BoundedConvolution product_of_pixels(const cpu::MatMulViews& views, int threads) {
  const cpu::View& b = views.b;
  // One after another: gcc 12 destroys parts of a nested list twice where one throws.
  cpu::BoundedConvolution pixels;
  pixels.views.x = rows_as_images(views.a);
  pixels.views.w = {b.dtype, {b.dims[1], b.dims[0], 1}, {b.strides[1], b.strides[0], 1}};
  pixels.views.y = rows_as_images(views.y);
  pixels.views.bias = views.bias;
  pixels.window = {{1}, {1}, {0}, {0}, 1};
  pixels.threads = threads;
  pixels.lasting = {cpu::bounded_w};
  return pixels;
}

std::string pixel_product_reason(const cpu::MatMulViews& views,
                                 const cpu::BoundedConvolution& pixels, Isa isa) {
  return first_reason(
      [&] { return unless(views.b.dims.size() == 2, "several matrices"); },
      [&] { return unless(is_dense(views.a) && is_dense(views.y), "rows with gaps"); },
      [&] { return pixel_convolution_reason(pixels, isa); });
}

Offer product_on_pixel_tiles(const ProductRequest& request) {
  const cpu::MatMulViews& views = request.views;
  const Target& target = request.request.target;
  std::string reason = first_reason(
      [&] { return request.scaled; },
      [&] { return contraction_reason(Way::tiles, request.request); },
      [&] {
        return unless(request.request.input(request.inputs[1]).lasts, "a matrix that may change");
      },
      [&] {
        return pixel_product_reason(views, product_of_pixels(views, target.threads), target.isa);
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared([pixels = product_of_pixels(
                             views, target.threads)] { return prepare_pixel_convolution(pixels); },
                        request.inputs);
}

}  // namespace narrowgauge
