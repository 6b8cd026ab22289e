// SPDX-License-Identifier: Apache-2.0
// The windows of Conv and its gradients, for their reference and their kernels.
#pragma once

#include "kernels/cpu/contraction.h"
#include "narrowgauge/op.h"
#include "ops/conv_reference.h"
#include "ops/window.h"

namespace narrowgauge {

template <class Op>
WindowAttributes window_of(const Op& op, const Dims& kernel) {
  return {Op::info.name, op.auto_pad, kernel, op.strides, op.dilations, op.pads, false};
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
