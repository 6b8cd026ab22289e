// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <utility>

#include "base/cpu.h"
#include "base/parallel.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/dfp16.h"
#include "kernels/cpu/dfp16_parts.h"
#include "kernels/cpu/dfp16_work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t least_channels = 16;
constexpr std::int64_t most_row_pixels = 1024;  // of a weight gradient: see its bound

std::string layout_reason(ConvolutionPass pass, const ConvolutionViews& views) {
  if (views.x.strides[1] != 1 || views.y.strides[1] != 1)
    return "dfp16: channels do not lie next to each other";
  if (pass != ConvolutionPass::weight_gradient) return {};
  if (!same_layout(views.w, dense_view(views.w.dtype, views.w.dims)))
    return "dfp16: the weights do not lie densely";
  if (views.y.dims[3] > most_row_pixels)
    return concat("dfp16: rows of ", views.y.dims[3], " pixels");
  return {};
}

// All pixels of all images as the rows of a matrix, if they follow each other evenly.
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

// A window of one pixel is a product of matrices.
std::optional<Prepared> prepare_product(ConvolutionPass pass, const ConvolutionViews& views,
                                        const ConvolutionWindow& window,
                                        const ContractionOptions& options) {
  if (pass == ConvolutionPass::weight_gradient || !is_product(views, window)) return {};
  const std::optional<View> x = as_matrix(views.x), y = as_matrix(views.y);
  if (!x || !y) return {};
  const Dims &dims = views.w.dims, &strides = views.w.strides;
  const bool forward = pass == ConvolutionPass::forward;
  const View w = forward ? View{views.w.dtype, {dims[1], dims[0]}, {strides[1], strides[0]}}
                         : View{views.w.dtype, {dims[0], dims[1]}, {strides[0], strides[1]}};
  const MatMulViews product =
      forward ? MatMulViews{*x, w, *y, views.bias} : MatMulViews{*y, w, *x, {}};
  if (!dfp16_matmul_reason(product).empty()) return {};
  Prepared prepared = prepare_dfp16_matmul(product, options);
  if (forward) return prepared;
  // Here w comes before dy.
  prepared.run = [run = std::move(prepared.run)](const Call& call) {
    const std::array<const void*, 2> inputs{call.inputs[1], call.inputs[0]};
    Call exchanged = call;
    exchanged.inputs = inputs.data();
    run(exchanged);
  };
  return prepared;
}

}  // namespace

void dfp16_load_bias(const View& view, const void* data, std::int64_t room, float* bias) {
  for (std::int64_t i = 0; i < room; ++i) bias[i] = 0;
  for (std::int64_t i = 0; i < view.dims[0]; ++i)
    widen_row(view.dtype, at_offset(data, view.dtype, i * view.strides[0]), bias + i, 1);
}

std::string dfp16_convolution_reason(ConvolutionPass pass, const ConvolutionViews& views,
                                     const ConvolutionWindow& window) {
  if (isa() < Isa::vnni) return concat("dfp16 needs AVX512_VNNI, this is ", name(isa()));
  for (const View* view : {&views.x, &views.w, &views.y}) {
    if (view->dtype != DType::f16 && view->dtype != DType::f32)
      return concat("dfp16 of ", view->dtype);
    if (view->dims.size() != 4) return "dfp16: not two spatial axes";
    if (element_count(view->dims) == 0) return "dfp16: empty";
  }
  if (window.groups != 1) return concat("dfp16: ", window.groups, " groups");
  if (views.x.dims[1] < least_channels || views.y.dims[1] < least_channels)
    return concat("dfp16: ", views.x.dims[1], " and ", views.y.dims[1], " channels are too few");
  return layout_reason(pass, views);
}

Prepared prepare_dfp16_convolution(ConvolutionPass pass, const ConvolutionViews& views,
                                   const ConvolutionWindow& window,
                                   const ContractionOptions& options) {
  const std::string reason = dfp16_convolution_reason(pass, views, window);
  require(reason.empty(), "convolution: ", reason);
  if (std::optional<Prepared> product = prepare_product(pass, views, window, options))
    return *std::move(product);
  const int threads = options.threads == 0 ? thread_count() : options.threads;
  if (pass == ConvolutionPass::weight_gradient)
    return prepare_dfp16_weight_gradient({pass, views, window, threads});
  return prepare_dfp16_pixels({pass, views, window, threads});
}

}  // namespace narrowgauge::cpu
