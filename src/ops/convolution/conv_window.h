// SPDX-License-Identifier: Apache-2.0
// The windows of Conv and its gradients, for their reference and their kernels.
#pragma once

#include "kernels/cpu/contraction/contraction.h"
#include "narrowgauge/op_record.h"
#include "ops/convolution/conv_reference.h"
#include "ops/pool/window.h"

namespace narrowgauge {

template <class Op>
WindowAttributes window_of(const Op& op, const Dims& kernel) {
  return {Op::info.name, op.auto_pad, kernel, op.strides, op.dilations, op.pads, false};
}

// The shape of y for x and w; checks that they fit.
template <class Op>
Shape output_shape(const Op& op, const Shape& x, const Shape& w) {
  constexpr std::string_view name = Op::info.name;
  require(x.size() >= 3 && x.size() <= 5, name, ": expected x with one to three spatial axes, got ",
          x);
  require(w.size() == x.size(), name, ": expected w of rank ", x.size(), " like x, got ", w);
  require(op.group >= 1, name, ": group must be at least 1, got ", op.group);
  require(w[1] * op.group == x[1], name, ": w ", w, " over ", op.group, " groups needs ",
          w[1] * op.group, " channels, x is ", x);
  require(!w[0].is_known() || w[0].value() % op.group == 0, name, ": ", w[0],
          " output channels are not a multiple of ", op.group, " groups");
  const Dims kernel = known_dims(spatial_part(w));
  require(op.kernel_shape.empty() || op.kernel_shape == kernel, name, ": kernel_shape ",
          op.kernel_shape, " differs from w ", w);
  Shape y = window_output(window_of(op, kernel), spatial_part(x));
  y.insert(y.begin(), {x[0], w[0]});
  return y;
}

// A multiplication and an addition for each tap of each element of y.
inline double convolution_flops(const TensorType& w, const TensorType& y) {
  const Dims kernel = known_dims(w.shape);
  const std::int64_t taps = element_count(std::span(kernel).subspan(1));
  return 2.0 * static_cast<double>(taps) * static_cast<double>(element_count(known_dims(y.shape)));
}

template <class Op>
ConvolutionCase case_of(const Op& op, const Operand& x, const Operand& w) {
  return {resolve_window(window_of(op, spatial_part(w.dims)), spatial_part(x.dims)), op.group};
}
template <class Op>
ConvolutionCase case_of(const Request& request, const Operand& x, const Operand& w) {
  return case_of(request.as<Op>(), x, w);
}

inline cpu::ConvolutionWindow kernel_window(const ConvolutionCase& c) {
  const Window& window = c.window;
  return {window.strides, window.dilations, window.pads_begin, window.pads_end, c.group};
}

}  // namespace narrowgauge
