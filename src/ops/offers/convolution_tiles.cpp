// SPDX-License-Identifier: Apache-2.0
// Convolutions on the tiles of AMX.
#include "ir/reason.h"
#include "kernels/cpu/batch_inner/image_convolution.h"
#include "kernels/cpu/tiles/pixel_weight_gradient.h"
#include "kernels/cpu/tiles/tile_gemm.h"
#include "ops/offers/batch_inner.h"
#include "ops/offers/contraction.h"
#include "ops/offers/convolution.h"

namespace narrowgauge {

namespace {

using cpu::ConvolutionPass;

bool lies_densely(const Operand& operand) {
  return operand.storage.is_plain() && operand.strides == dense_strides(operand.dims);
}

cpu::BatchInnerConvolution batch_inner_convolution(const Convolution& c, int threads) {
  cpu::BatchInnerConvolution convolution{c.pass,    c.x.dims, c.w.dims,  c.y.dims, c.window,
                                         c.w.dtype, {},       c.x.dtype, threads};
  if (c.bias) convolution.bias = c.bias->dtype;
  return convolution;
}

// Why tiles cannot multiply these; "" when they can.
std::string tiles_reason(const Convolution& c, const Target& target) {
  return first_reason(
      [&] {
        return c.x.dtype == c.y.dtype ? std::string()
                                      : concat("images of ", c.x.dtype, " and ", c.y.dtype);
      },
      [&] { return way_reason(Way::tiles, c.math, c.x.dtype, target); },
      [&] {
        if (lies_batch_inner(c.y) && lies_densely(c.w)) return std::string();
        return concat("tiles need images in batch-inner blocks, y lies ", c.y.storage);
      });
}

// What to prepare where x lies as it can be read.
TilesConvolution prepared_for(const Convolution& c, bool x_fits, const Target& target,
                              std::string (*sizes_reason)(const cpu::BatchInnerConvolution&, Isa)) {
  TilesConvolution tiles{batch_inner_convolution(c, target.threads), {}};
  tiles.reason =
      first_reason([&] { return tiles_reason(c, target); },
                   [&] { return x_fits ? std::string() : concat("x lies ", c.x.storage); },
                   [&] { return sizes_reason(tiles.convolution, target.isa); });
  return tiles;
}

}  // namespace

TilesConvolution tiles_convolution(const Convolution& c, const Target& target) {
  return prepared_for(c, lies_batch_inner(c.x), target, cpu::batch_inner_reason);
}

TilesConvolution image_convolution(const Convolution& c, const Target& target) {
  return prepared_for(c, lies_densely(c.x), target, cpu::image_convolution_reason);
}

Offer convolution_on_tiles(const ConvolutionRequest& request) {
  const Convolution& c = request.convolution;
  if (!request.request.outputs[0].present) return Offer::decline("nobody reads the result");
  if (c.bias && !lies_densely(*c.bias)) return Offer::decline("a bias with strides");
  const bool blocks = lies_batch_inner(c.x);
  TilesConvolution tiles =
      (blocks ? tiles_convolution : image_convolution)(c, request.request.target);
  if (!tiles.reason.empty()) return Offer::decline(std::move(tiles.reason));
  return offer_prepared(
      [blocks, convolution = tiles.convolution] {
        return blocks ? prepare_batch_inner_convolution(convolution)
                      : prepare_image_convolution(convolution);
      },
      request.inputs);
}

namespace {

// Channels-last images as [pixels, channels]; no dims if pixels are not evenly spaced.
cpu::View pixel_rows(const Operand& images) {
  const Dims& strides = images.strides;
  const std::int64_t step = strides[3], row = images.dims[3] * step, image = images.dims[2] * row;
  const bool even = strides[1] == 1 && (strides[2] == row || images.dims[2] == 1) &&
                    (strides[0] == image || images.dims[0] == 1);
  if (!even) return {};
  return {
      images.dtype, {images.dims[0] * images.dims[2] * images.dims[3], images.dims[1]}, {step, 1}};
}

// Why a convolution is not a product of its pixels and w; "" if it is.
std::string pixel_reason(const Convolution& c) {
  if (c.x.dims.size() != 4) return "needs two spatial axes";
  if (c.window.groups != 1) return concat(c.window.groups, " groups");
  if (c.w.dims[2] != 1 || c.w.dims[3] != 1 || c.window.strides != Dims{1, 1} ||
      c.x.dims[2] != c.y.dims[2] || c.x.dims[3] != c.y.dims[3] || c.window.pads_begin != Dims{0, 0})
    return "pixels see more than themselves";
  if (pixel_rows(c.x).dims.empty() || pixel_rows(c.y).dims.empty())
    return "images are not channels last";
  return lies_densely(c.w) ? "" : "weights with strides";
}

// The product of pixels that a convolution, or its data gradient, of single pixels is.
cpu::MatMulViews pixel_product(const Convolution& c) {
  const std::int64_t outputs = c.w.dims[0], inputs = c.w.dims[1];
  cpu::MatMulViews views;
  if (c.pass == ConvolutionPass::forward)
    views = {
        pixel_rows(c.x), cpu::View{c.w.dtype, {inputs, outputs}, {1, inputs}}, pixel_rows(c.y), {}};
  else
    views = {
        pixel_rows(c.y), cpu::View{c.w.dtype, {outputs, inputs}, {inputs, 1}}, pixel_rows(c.x), {}};
  if (c.bias) views.bias = kernel_view(*c.bias);
  return views;
}

Offer offer_pixel_weight_gradient(const ConvolutionRequest& request) {
  const Convolution& c = request.convolution;
  const cpu::ConvolutionViews views = c.views();
  std::string reason = first_reason(
      [&] { return contraction_reason(Way::tiles, request.request); },
      [&] { return pixel_weight_gradient_reason(views, c.window, request.request.target.isa); });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared(
      [views, window = c.window, options = contraction_options(request.request)] {
        return prepare_pixel_weight_gradient(views, window, options);
      },
      request.inputs);
}

}  // namespace

Offer convolution_of_pixels(const ConvolutionRequest& request) {
  const Convolution& c = request.convolution;
  if (c.pass == ConvolutionPass::weight_gradient) return offer_pixel_weight_gradient(request);
  cpu::MatMulViews views;
  std::string reason = first_reason([&] { return contraction_reason(Way::tiles, request.request); },
                                    [&] { return pixel_reason(c); },
                                    [&] {
                                      views = pixel_product(c);
                                      return tile_gemm_reason(views, request.request.target.isa);
                                    });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  // The product's first factor is the images, also where the kernels of convolutions take w first.
  const bool forward = c.pass == ConvolutionPass::forward;
  const std::vector<int> inputs = forward ? request.inputs : std::vector<int>{0, 1};
  cpu::ContractionOptions options = contraction_options(request.request);
  options.lasting = lasting_inputs(request.request, inputs);
  return offer_prepared([views, options] { return prepare_tile_gemm(views, options); }, inputs);
}

}  // namespace narrowgauge
