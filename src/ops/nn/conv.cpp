// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/conv.h"

#include "narrowgauge/graph.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/nn/conv_reference.h"
#include "ops/nn/conv_window.h"
#include "ops/offers/contraction.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Copies the attributes that the three ops share.
template <class To, class From>
To like(const From& from) {
  To to;
  to.auto_pad = from.auto_pad;
  to.dilations = from.dilations;
  to.group = from.group;
  to.kernel_shape = from.kernel_shape;
  to.pads = from.pads;
  to.strides = from.strides;
  return to;
}

template <class Op>
void require_output(const Op& op, const Shape& x, const Shape& w, const Shape& dy) {
  const Shape y = output_shape(op, x, w);
  require(y == dy, Op::info.name, ": x ", x, " and w ", w, " give ", y, ", dy is ", dy);
}

}  // namespace

TensorTypes Conv::infer(const Inference& in) const {
  const Shape& w = in.shape(1);
  Shape y = output_shape(*this, in.shape(0), w);
  if (in.has(2))
    require(in.shape(2) == Shape{w[0]}, "Conv: expected b of ", w[0], " values, got ", in.shape(2));
  return {{in.dtype(0), std::move(y)}};
}

TensorTypes ConvDataGradient::infer(const Inference& in) const {
  require_output(*this, shape, in.shape(1), in.shape(0));
  return {{in.dtype(0), shape}};
}

TensorTypes ConvWeightGradient::infer(const Inference& in) const {
  require_output(*this, in.shape(0), shape, in.shape(1));
  return {{in.dtype(0), shape}};
}

namespace {

Value data_gradient(Gradient& g, ConvDataGradient op, Value dy, Value w, Value like_x) {
  op.shape = g.shape(like_x);
  return g.add(std::move(op), {dy, w});
}

Value weight_gradient(Gradient& g, ConvWeightGradient op, Value x, Value dy, Value like_w) {
  op.shape = g.shape(like_w);
  return g.add(std::move(op), {x, dy});
}

// Sums dy over all axes but the channels.
Value bias_gradient(Gradient& g, Value dy) {
  const Dim channels = g.shape(dy)[1];
  Shape kept(g.shape(dy).size() - 1, 1);
  kept[0] = channels;
  const Value sums = g.add(BroadcastGradient{std::move(kept)}, {dy});
  return g.add(ReshapeTo{Shape{channels}}, {sums});
}

}  // namespace

Values Conv::gradient(Gradient& g) const {
  const Value x = g.input(0), w = g.input(1), dy = g.output_gradient();
  Values gradients(3);
  if (g.wants(0)) gradients[0] = data_gradient(g, like<ConvDataGradient>(*this), dy, w, x);
  if (g.wants(1)) gradients[1] = weight_gradient(g, like<ConvWeightGradient>(*this), x, dy, w);
  if (g.wants(2)) gradients[2] = bias_gradient(g, dy);
  return gradients;
}

Values ConvDataGradient::gradient(Gradient& g) const {
  const Value dy = g.input(0), w = g.input(1), ddx = g.output_gradient();
  Values gradients(2);
  if (g.wants(0)) gradients[0] = g.add(like<Conv>(*this), {ddx, w});
  if (g.wants(1)) gradients[1] = weight_gradient(g, like<ConvWeightGradient>(*this), ddx, dy, w);
  return gradients;
}

Values ConvWeightGradient::gradient(Gradient& g) const {
  const Value x = g.input(0), dy = g.input(1), ddw = g.output_gradient();
  Values gradients(2);
  if (g.wants(0)) gradients[0] = data_gradient(g, like<ConvDataGradient>(*this), dy, ddw, x);
  if (g.wants(1)) gradients[1] = g.add(like<Conv>(*this), {x, ddw});
  return gradients;
}

double Conv::flops(std::span<const TensorType> in, std::span<const TensorType> out) const {
  return convolution_flops(in[1], out[0]);
}
double ConvDataGradient::flops(std::span<const TensorType> in, std::span<const TensorType>) const {
  return convolution_flops(in[1], in[0]);
}
double ConvWeightGradient::flops(std::span<const TensorType> in,
                                 std::span<const TensorType> out) const {
  return convolution_flops(out[0], in[1]);
}

Convolution convolution_of(const Node& node, const Operand& x, const Operand& w, const Operand& y) {
  const auto of = [&](const auto& op, cpu::ConvolutionPass pass) {
    return Convolution{pass, x, w, y, nullptr, kernel_window(case_of(op, x, w)), node.math};
  };
  if (node.is<Conv>()) return of(node.as<Conv>(), cpu::ConvolutionPass::forward);
  if (node.is<ConvDataGradient>())
    return of(node.as<ConvDataGradient>(), cpu::ConvolutionPass::data_gradient);
  return of(node.as<ConvWeightGradient>(), cpu::ConvolutionPass::weight_gradient);
}

namespace {

using cpu::ConvolutionPass;

// Nothing fails while the parts are put together: GCC 12 would destroy those in braces twice.
ConvolutionRequest request_of(Convolution&& convolution, const Request& request,
                              std::vector<int>&& inputs) {
  return {request, std::move(convolution), std::move(inputs)};
}

ConvolutionRequest forward_request(const Request& request) {
  const Operand &x = request.inputs[0], &w = request.inputs[1], &y = request.outputs[0];
  const bool biased = request.inputs.size() > 2 && request.inputs[2].present;
  return request_of({ConvolutionPass::forward, x, w, y, biased ? &request.inputs[2] : nullptr,
                     kernel_window(case_of<Conv>(request, x, w)), request.math},
                    request, biased ? std::vector{0, 1, 2} : std::vector{0, 1});
}

ConvolutionRequest data_gradient_request(const Request& request) {
  const Operand &dy = request.inputs[0], &w = request.inputs[1], &dx = request.outputs[0];
  return request_of({ConvolutionPass::data_gradient, dx, w, dy, nullptr,
                     kernel_window(case_of<ConvDataGradient>(request, dx, w)), request.math},
                    request, {1, 0});
}

ConvolutionRequest weight_gradient_request(const Request& request) {
  const Operand &x = request.inputs[0], &dy = request.inputs[1], &dw = request.outputs[0];
  return request_of({ConvolutionPass::weight_gradient, x, dw, dy, nullptr,
                     kernel_window(case_of<ConvWeightGradient>(request, x, dw)), request.math},
                    request, {0, 1});
}

Offer conv_reference(const Request& request) {
  const auto c = case_of<Conv>(request, request.inputs[0], request.inputs[1]);
  return reference_offer(request, [c](const auto& in, const auto& out, const KernelCall&) {
    convolve(c, in[0], in[1], in.size() > 2 ? &in[2] : nullptr, out[0]);
  });
}

Offer data_gradient_reference(const Request& request) {
  const auto c = case_of<ConvDataGradient>(request, request.outputs[0], request.inputs[1]);
  return reference_offer(request, [c](const auto& in, const auto& out, const KernelCall&) {
    convolve_data_gradient(c, in[0], in[1], out[0]);
  });
}

Offer weight_gradient_reference(const Request& request) {
  const auto c = case_of<ConvWeightGradient>(request, request.inputs[0], request.outputs[0]);
  return reference_offer(request, [c](const auto& in, const auto& out, const KernelCall&) {
    convolve_weight_gradient(c, in[0], in[1], out[0]);
  });
}

}  // namespace

std::span<const Kernel> Conv::kernels() {
  return contraction_kernels<convolution_kernels, forward_request, conv_reference>();
}
std::span<const Kernel> ConvDataGradient::kernels() {
  return contraction_kernels<convolution_kernels, data_gradient_request, data_gradient_reference>();
}
std::span<const Kernel> ConvWeightGradient::kernels() {
  return contraction_kernels<convolution_kernels, weight_gradient_request,
                             weight_gradient_reference>();
}

}  // namespace narrowgauge

NG_OPS(conv, narrowgauge::Conv, narrowgauge::ConvDataGradient, narrowgauge::ConvWeightGradient)
