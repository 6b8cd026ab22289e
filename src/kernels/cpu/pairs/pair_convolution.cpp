// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/pairs/pair_convolution_parts.h"
#include "kernels/cpu/pairs/pair_products.h"
#include "kernels/cpu/pairs/pair_unit.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t least_channels = 16;
constexpr std::int64_t most_row_pixels = 1024;  // of a weight gradient: see its bound

std::string convolution_layout_reason(ConvolutionPass pass, const ConvolutionViews& views) {
  if (views.x.strides[1] != 1 || views.y.strides[1] != 1)
    return "channels do not lie next to each other";
  if (pass != ConvolutionPass::weight_gradient) return {};
  if (!is_dense(views.w)) return "the weights do not lie densely";
  if (views.y.dims[3] > most_row_pixels) return concat("rows of ", views.y.dims[3], " pixels");
  return {};
}

// All pixels of all images as the rows of a matrix, if they are evenly spaced.
std::optional<View> as_matrix(const View& images) {
  const Dims &dims = images.dims, &strides = images.strides;
  if (strides[2] != dims[3] * strides[3] || strides[0] != dims[2] * strides[2]) return {};
  return View{images.dtype, {dims[0] * dims[2] * dims[3], dims[1]}, {strides[3], 1}};
}

bool is_product(const ConvolutionViews& views, const ConvolutionWindow& window) {
  return views.w.dims[2] == 1 && views.w.dims[3] == 1 && window.strides == Dims{1, 1} &&
         views.x.dims[2] == views.y.dims[2] && views.x.dims[3] == views.y.dims[3] &&
         window.pads_begin == Dims{0, 0};
}

View transposed(const View& matrix) {
  return {matrix.dtype, {matrix.dims[1], matrix.dims[0]}, {matrix.strides[1], matrix.strides[0]}};
}

// Whether a weight gradient has too many sums to read and write them for every few images.
bool has_many_weights(const ConvolutionViews& views) {
  constexpr std::int64_t many = 16;  // measured on Zen 4: at 3 walking along images was faster
  const Dims& y = views.y.dims;
  return element_count(views.w.dims) > many * y[0] * y[2] * y[3];
}

// Computes a window of one pixel as a product of matrices.
std::optional<Prepared> prepare_product(PairFormat format, ConvolutionPass pass,
                                        const ConvolutionViews& views,
                                        const ConvolutionWindow& window,
                                        const ContractionOptions& options) {
  if (!is_product(views, window)) return {};
  if (pass == ConvolutionPass::weight_gradient && !has_many_weights(views)) return {};
  const std::optional<View> x = as_matrix(views.x), y = as_matrix(views.y);
  if (!x || !y) return {};
  const Dims &dims = views.w.dims, &strides = views.w.strides;
  const View w{views.w.dtype, {dims[0], dims[1]}, {strides[0], strides[1]}};
  const MatMulViews product =
      pass == ConvolutionPass::forward         ? MatMulViews{*x, transposed(w), *y, views.bias}
      : pass == ConvolutionPass::data_gradient ? MatMulViews{*y, w, *x, {}}
                                               : MatMulViews{transposed(*y), *x, w, {}};
  if (!pair_matmul_reason(format, product, isa()).empty()) return {};
  Prepared prepared = prepare_pair_matmul(format, product, options);
  if (pass == ConvolutionPass::forward) return prepared;
  // The product takes dy second.
  prepared.run = [run = std::move(prepared.run)](const Call& call) {
    const std::array<const void*, 2> inputs{call.inputs[1], call.inputs[0]};
    Call exchanged = call;
    exchanged.inputs = inputs.data();
    run(exchanged);
  };
  return prepared;
}

// Joins rows of an image up to half a block, if each row ends where the next begins: a window of
// one pixel needs no separate rows, and short ones are slower to walk along.
void join_rows(ConvolutionViews& views) {
  const auto is_even = [](const View& view) {
    return view.strides[2] == view.dims[3] * view.strides[3];
  };
  if (!is_even(views.x) || !is_even(views.y)) return;
  std::int64_t joined = std::max<std::int64_t>(pair_block / 2 / views.y.dims[3], 1);
  while (views.y.dims[2] % joined != 0) --joined;
  for (View* view : {&views.x, &views.y}) {
    view->dims[2] /= joined;
    view->dims[3] *= joined;
    view->strides[2] *= joined;
  }
}

std::string convolution_shape_reason(ConvolutionPass pass, const ConvolutionViews& views,
                                     const ConvolutionWindow& window) {
  for (const View* view : {&views.x, &views.w, &views.y}) {
    if (view->dims.size() != 4) return "not two spatial axes";
    if (element_count(view->dims) == 0) return "empty";
  }
  if (window.groups != 1) return concat(window.groups, " groups");
  if (views.x.dims[1] < least_channels || views.y.dims[1] < least_channels)
    return concat(views.x.dims[1], " and ", views.y.dims[1], " channels are too few");
  return convolution_layout_reason(pass, views);
}

}  // namespace

std::string pair_convolution_reason(PairFormat format, ConvolutionPass pass,
                                    const ConvolutionViews& views, const ConvolutionWindow& window,
                                    Isa isa) {
  const bool forward = pass == ConvolutionPass::forward;
  const bool weights = pass == ConvolutionPass::weight_gradient;
  std::string reason = pair_format_reason(
      format, {forward || weights ? &views.x : &views.y, weights ? &views.y : &views.w},
      forward   ? views.y
      : weights ? views.w
                : views.x,
      isa);
  if (!reason.empty()) return reason;
  reason = convolution_shape_reason(pass, views, window);
  return reason.empty() ? reason : concat(name(format), ": ", reason);
}

Prepared prepare_pair_convolution(PairFormat format, ConvolutionPass pass,
                                  const ConvolutionViews& views, const ConvolutionWindow& window,
                                  const ContractionOptions& options) {
  const std::string reason = pair_convolution_reason(format, pass, views, window, isa());
  require(reason.empty(), "convolution: ", reason);
  if (std::optional<Prepared> product = prepare_product(format, pass, views, window, options))
    return *std::move(product);
  const int threads = options.threads == 0 ? thread_count() : options.threads;
  PairConvolution convolution{pair_unit(format), pass, views, window, threads};
  if (pass != ConvolutionPass::weight_gradient) return prepare_pair_pixels(convolution);
  if (is_product(views, window)) join_rows(convolution.views);
  return prepare_pair_weight_gradient(convolution);
}

}  // namespace narrowgauge::cpu
