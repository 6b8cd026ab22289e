// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/contraction/packed_bounded.h"

#include <algorithm>

#include "ir/reason.h"
#include "kernels/cpu/convert/convert.h"

namespace narrowgauge::cpu {

bool packs_ahead(const BoundedConvolution& convolution) {
  const auto lasts = [&](int input) { return std::ranges::count(convolution.lasting, input) > 0; };
  return lasts(bounded_w) && (!convolution.views.bias || lasts(bounded_bias));
}

std::string panel_format(const char* kernel, const BoundedConvolution& convolution) {
  const View& w = convolution.views.w;
  std::string text = concat(kernel, ' ', w.dtype);
  for (std::size_t axis = 0; axis < w.dims.size(); ++axis)
    text += concat(' ', w.dims[axis], '*', w.strides[axis]);
  if (convolution.views.bias) text += concat(" with ", convolution.views.bias->dtype);
  return text;
}

std::string narrow_operands_reason(const BoundedConvolution& convolution) {
  const ConvolutionViews& views = convolution.views;
  const auto& residual = convolution.residual;
  return first_reason(
      [&] {
        const bool narrow = views.x.dtype == DType::bf16 && views.y.dtype == DType::bf16 &&
                            (!residual || residual->dtype == DType::bf16);
        return unless(narrow, concat("images of ", views.x.dtype, " and ", views.y.dtype));
      },
      [&] {
        const auto fits = [](DType dtype) { return dtype == DType::bf16 || dtype == DType::f32; };
        return unless(views.w.dtype == DType::bf16 && (!views.bias || fits(views.bias->dtype)),
                      "weights of another dtype");
      });
}

float widened_element(const View& view, const void* data, std::int64_t at) {
  float value = 0;
  widen_row(view.dtype, at_offset(data, view.dtype, at), &value, 1);
  return value;
}

}  // namespace narrowgauge::cpu
