// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/conv_tiles.h"

#include "kernels/cpu/tiles/batch_inner_convolution.h"
#include "kernels/cpu/tiles/image_convolution.h"
#include "kernels/cpu/tiles/pixel_weight_gradient.h"
#include "kernels/cpu/tiles/tile_gemm.h"
#include "ops/nn/conv.h"
#include "ops/nn/conv_window.h"
#include "ops/offers/batch_inner.h"
#include "ops/offers/contraction.h"

namespace narrowgauge {

namespace {

using cpu::ConvolutionPass;

// x, w and y as in ConvolutionViews.
struct Operands {
  const Operand &x, &w, &y;
};

bool lies_densely(const Operand& operand) {
  return operand.storage.is_plain() && operand.strides == dense_strides(operand.dims);
}

template <class Op>
cpu::BatchInnerConvolution convolution_of(const Op& op, ConvolutionPass pass,
                                          const Operands& operands) {
  const auto& [x, w, y] = operands;
  return {pass, x.dims, w.dims, y.dims, kernel_window(case_of(op, x, w)), w.dtype, {}, x.dtype};
}

// Why tiles cannot multiply these; "" when they can.
std::string tiles_reason(Math math, const Operands& operands, const Target& target) {
  const auto& [x, w, y] = operands;
  if (x.dtype != y.dtype) return concat("images of ", x.dtype, " and ", y.dtype);
  std::string reason = tile_math_reason(math, x.dtype, target);
  if (!reason.empty()) return reason;
  if (!lies_batch_inner(y) || !lies_densely(w))
    return concat("tiles need images in batch-inner blocks, y lies ", y.storage);
  return {};
}

// Why tiles cannot compute a node of a group, whose x has to lie as it can be read; "" if they can.
std::string node_reason(const Node& node, const Operands& operands, bool x_fits,
                        const Target& target) {
  std::string reason = tiles_reason(node.math, operands, target);
  if (reason.empty() && !x_fits) reason = concat("x lies ", operands.x.storage);
  return reason;
}

Offer offer_tiles(const Request& request, const cpu::BatchInnerConvolution& convolution,
                  const Operands& operands, std::vector<int> inputs) {
  std::string reason = tiles_reason(request.math, operands, request.target);
  if (!request.outputs[0].present) reason = "nobody reads the result";
  if (!reason.empty()) return Offer::decline(std::move(reason));
  if (lies_batch_inner(operands.x)) {
    reason = batch_inner_reason(convolution, request.target.isa);
    if (!reason.empty()) return Offer::decline(std::move(reason));
    return offer_prepared([=] { return prepare_batch_inner_convolution(convolution); },
                          std::move(inputs));
  }
  if (!lies_densely(operands.x)) return Offer::decline(concat("x lies ", operands.x.storage));
  reason = image_convolution_reason(convolution, request.target.isa);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared([=] { return prepare_image_convolution(convolution); }, std::move(inputs));
}

}  // namespace

Offer offer_conv_tiles(const Request& request) {
  const Operands operands{request.inputs[0], request.inputs[1], request.outputs[0]};
  auto convolution = convolution_of(request.as<Conv>(), ConvolutionPass::forward, operands);
  if (request.inputs.size() < 3 || !request.inputs[2].present)
    return offer_tiles(request, convolution, operands, {0, 1});
  if (!lies_densely(request.inputs[2])) return Offer::decline("a bias with strides");
  convolution.bias = request.inputs[2].dtype;
  return offer_tiles(request, convolution, operands, {0, 1, 2});
}

Offer offer_data_gradient_tiles(const Request& request) {
  const Operands operands{request.outputs[0], request.inputs[1], request.inputs[0]};
  return offer_tiles(
      request,
      convolution_of(request.as<ConvDataGradient>(), ConvolutionPass::data_gradient, operands),
      operands, {1, 0});
}

Offer offer_weight_gradient_tiles(const Request& request) {
  const Operands operands{request.inputs[0], request.outputs[0], request.inputs[1]};
  return offer_tiles(
      request,
      convolution_of(request.as<ConvWeightGradient>(), ConvolutionPass::weight_gradient, operands),
      operands, {0, 1});
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
std::string pixel_reason(const Operands& operands, const cpu::ConvolutionWindow& window) {
  const auto& [x, w, y] = operands;
  if (x.dims.size() != 4) return "needs two spatial axes";
  if (window.groups != 1) return concat(window.groups, " groups");
  if (w.dims[2] != 1 || w.dims[3] != 1 || window.strides != Dims{1, 1} || x.dims[2] != y.dims[2] ||
      x.dims[3] != y.dims[3] || window.pads_begin != Dims{0, 0})
    return "pixels see more than themselves";
  if (pixel_rows(x).dims.empty() || pixel_rows(y).dims.empty())
    return "images are not channels last";
  if (!lies_densely(w)) return "weights with strides";
  return {};
}

Offer offer_products(const Request& request, const cpu::MatMulViews& views,
                     std::vector<int> inputs) {
  std::string reason = tile_gemm_reason(views, request.target.isa);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared(
      [views, options = contraction_options(request)] { return prepare_tile_gemm(views, options); },
      std::move(inputs));
}

}  // namespace

Offer offer_conv_pixels(const Request& request) {
  const Operands operands{request.inputs[0], request.inputs[1], request.outputs[0]};
  const auto& [x, w, y] = operands;
  std::string reason = tile_product_reason(request);
  if (reason.empty()) reason = pixel_reason(operands, kernel_window(case_of<Conv>(request, x, w)));
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const bool bias = request.inputs.size() > 2 && request.inputs[2].present;
  cpu::MatMulViews views{
      pixel_rows(x), {w.dtype, {w.dims[1], w.dims[0]}, {1, w.dims[1]}}, pixel_rows(y), {}};
  if (bias) views.bias = kernel_view(request.inputs[2]);
  return offer_products(request, views, bias ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1});
}

Offer offer_data_gradient_pixels(const Request& request) {
  const Operands operands{request.outputs[0], request.inputs[1], request.inputs[0]};
  const auto& [dx, w, dy] = operands;
  std::string reason = tile_product_reason(request);
  if (reason.empty())
    reason = pixel_reason(operands, kernel_window(case_of<ConvDataGradient>(request, dx, w)));
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_products(
      request,
      {pixel_rows(dy), {w.dtype, {w.dims[0], w.dims[1]}, {w.dims[1], 1}}, pixel_rows(dx), {}},
      {0, 1});
}

Offer offer_weight_gradient_pixels(const Request& request) {
  std::string reason = tile_product_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Operand &x = request.inputs[0], &dy = request.inputs[1], &dw = request.outputs[0];
  const cpu::ConvolutionViews views{kernel_view(x), kernel_view(dw), kernel_view(dy), {}};
  const cpu::ConvolutionWindow window = kernel_window(case_of<ConvWeightGradient>(request, x, dw));
  reason = pixel_weight_gradient_reason(views, window, request.target.isa);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared(
      [views, window, options = contraction_options(request)] {
        return prepare_pixel_weight_gradient(views, window, options);
      },
      {0, 1});
}

TilesConvolution tiles_convolution(const Node& node, const Operand& x, const Operand& w,
                                   const Operand& y, const Target& target) {
  const Operands operands{x, w, y};
  TilesConvolution tiles{{}, node_reason(node, operands, lies_batch_inner(x), target)};
  if (!tiles.reason.empty()) return tiles;
  const auto of = [&](const auto& op, ConvolutionPass pass) {
    tiles.convolution = convolution_of(op, pass, operands);
  };
  if (node.is<Conv>()) of(node.as<Conv>(), ConvolutionPass::forward);
  if (node.is<ConvDataGradient>()) of(node.as<ConvDataGradient>(), ConvolutionPass::data_gradient);
  if (node.is<ConvWeightGradient>())
    of(node.as<ConvWeightGradient>(), ConvolutionPass::weight_gradient);
  tiles.reason = batch_inner_reason(tiles.convolution, target.isa);
  return tiles;
}

TilesConvolution image_convolution(const Node& node, const Operand& x, const Operand& w,
                                   const Operand& y, const Target& target) {
  const Operands operands{x, w, y};
  TilesConvolution tiles{{}, node_reason(node, operands, lies_densely(x), target)};
  if (!tiles.reason.empty()) return tiles;
  tiles.convolution = convolution_of(node.as<Conv>(), ConvolutionPass::forward, operands);
  tiles.reason = image_convolution_reason(tiles.convolution, target.isa);
  return tiles;
}

}  // namespace narrowgauge
