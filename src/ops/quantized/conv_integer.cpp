// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/conv_integer.h"

#include "ops/nn/conv_reference.h"
#include "ops/nn/conv_window.h"
#include "ops/no_gradient.h"
#include "ops/offers/contraction.h"
#include "ops/quantized/int8.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The positions of the inputs of both ops.
struct ConvolutionPorts {
  int x, w, x_zero, w_zero;
  int x_scale = -1, w_scale = -1, y_scale = -1, y_zero = -1, bias = -1;
};
constexpr ConvolutionPorts places_of(const ConvInteger*) { return {0, 1, 2, 3}; }
constexpr ConvolutionPorts places_of(const QLinearConv*) { return {0, 3, 2, 5, 1, 4, 6, 7, 8}; }

template <class Op>
constexpr ConvolutionPorts places = places_of(static_cast<const Op*>(nullptr));

template <class Op>
Shape shape_of(const Op& op, const Inference& in) {
  constexpr ConvolutionPorts at = places<Op>;
  const Shape& w = in.shape(at.w);
  Shape y = output_shape(op, in.shape(at.x), w);
  require_lines(in, at.x_zero, {"zero point of x", 1});
  require_lines(in, at.w_zero, {"zero point of w", w[0]});
  if constexpr (at.y_scale >= 0) {
    require_lines(in, at.x_scale, {"scale of x", 1});
    require_lines(in, at.w_scale, {"scale of w", w[0]});
    require_lines(in, at.y_scale, {"scale of y", 1});
    require_lines(in, at.y_zero, {"zero point of y", 1});
    if (in.has(at.bias))
      require(in.shape(at.bias) == Shape{w[0]}, in.op_name(), ": expected B of ", w[0],
              " values, got ", in.shape(at.bias));
  }
  return y;
}

template <class Op>
Offer offer_int8_convolution(const Request& request) {
  constexpr ConvolutionPorts at = places<Op>;
  const Operand &x = request.input(at.x), &w = request.input(at.w);
  const cpu::Int8Operands operands{kernel_view(w), kernel_view(x), kernel_view(request.outputs[0]),
                                   w.constant ? w.constant->data() : nullptr};
  std::string reason = int8_convolution_reason(operands);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto quantities = int8_quantities(request, {.a_zero = at.w_zero,
                                                    .b_zero = at.x_zero,
                                                    .bias = at.bias,
                                                    .a_scale = at.w_scale,
                                                    .b_scale = at.x_scale,
                                                    .y_scale = at.y_scale,
                                                    .y_zero = at.y_zero});
  const cpu::ConvolutionWindow window = kernel_window(case_of<Op>(request, x, w));
  return int8_offer(
      [=, threads = request.target.threads] {
        return prepare_int8_convolution(operands, window, quantities, threads);
      },
      at.w, at.x);
}

template <class Op>
Offer convolution_reference(const Request& request) {
  constexpr ConvolutionPorts at = places<Op>;
  const ConvolutionCase c = case_of<Op>(request, request.input(at.x), request.input(at.w));
  return reference_offer(request, [c, at](const ReferenceViews& in, const ReferenceViews& out,
                                          const KernelCall&) {
    const Dims& y = out[0].dims();
    const Tensor sums = exact_sums(c, {at.x, at.w, at.x_zero, at.w_zero}, in, y);
    const std::int64_t pixels =
        y[0] * y[1] == 0 ? 1 : std::max<std::int64_t>(out[0].size() / (y[0] * y[1]), 1);
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      const std::int64_t channel = i / pixels % y[1];
      const std::int32_t sum =
          wrapped_int32(static_cast<std::int64_t>(sums.at(i)) + int8_zero(in, at.bias, channel));
      if (at.y_scale < 0) {
        out[0].set_whole(i, sum);
        continue;
      }
      const bool one = view_at(in, at.w_scale)->size() == 1;
      const cpu::Int8Scales scales =
          cpu::int8_scales({int8_scale(in, at.w_scale, channel), int8_scale(in, at.x_scale, 0),
                            int8_scale(in, at.y_scale, 0)},
                           one, true);
      out[0].set(i, int8_quantised(sum, scales, int8_zero(in, at.y_zero, 0)));
    }
  });
}

constexpr Kernel conv_integer_kernels[] = {{"int8", offer_int8_convolution<ConvInteger>},
                                           {"reference", convolution_reference<ConvInteger>}};
constexpr Kernel qlinear_conv_kernels[] = {{"int8", offer_int8_convolution<QLinearConv>},
                                           {"reference", convolution_reference<QLinearConv>}};

}  // namespace

TensorTypes ConvInteger::infer(const Inference& in) const {
  return {{DType::i32, shape_of(*this, in)}};
}
TensorTypes QLinearConv::infer(const Inference& in) const {
  return {{in.dtype(places<QLinearConv>.y_zero), shape_of(*this, in)}};
}

double ConvInteger::flops(std::span<const TensorType> in, std::span<const TensorType> out) const {
  return convolution_flops(in[places<ConvInteger>.w], out[0]);
}
double QLinearConv::flops(std::span<const TensorType> in, std::span<const TensorType> out) const {
  return convolution_flops(in[places<QLinearConv>.w], out[0]);
}

std::span<const Kernel> ConvInteger::kernels() { return conv_integer_kernels; }
std::span<const Kernel> QLinearConv::kernels() { return qlinear_conv_kernels; }

}  // namespace narrowgauge

NG_OPS(conv_integer, narrowgauge::ConvInteger, narrowgauge::QLinearConv)
NG_NO_GRADIENT(conv_integer, "whole numbers", narrowgauge::ConvInteger, narrowgauge::QLinearConv)
