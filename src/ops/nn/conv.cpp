// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/conv.h"

#include "narrowgauge/graph.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/nn/conv_reference.h"
#include "ops/nn/conv_window.h"
#include "ops/offers/contraction.h"
#include "ops/offers/conv_pairs.h"
#include "ops/offers/conv_tiles.h"
#include "ops/shape/reshape.h"
#include "ops/simulated/simulated.h"
#include "ops/simulated/tf32.h"
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

namespace {

using cpu::ConvolutionPass;

template <class Op>
Offer offer_pass(const Request& request, ConvolutionPass pass, const ConvolutionOperands& operands,
                 std::vector<int> inputs) {
  const auto& [x, w, y] = operands;
  cpu::ConvolutionViews views{kernel_view(x), kernel_view(w), kernel_view(y), {}};
  if (inputs.size() > 2) views.bias = kernel_view(request.inputs[2]);
  return offer_contraction(
      request, std::move(inputs),
      [pass, views = std::move(views), window = kernel_window(case_of<Op>(request, x, w)),
       options = contraction_options(request)] {
        return prepare_convolution(pass, views, window, options);
      });
}

Offer offer_conv(const Request& request) {
  const bool bias = request.inputs.size() > 2 && request.inputs[2].present;
  return offer_pass<Conv>(request, ConvolutionPass::forward,
                          {request.inputs[0], request.inputs[1], request.outputs[0]},
                          bias ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1});
}

Offer offer_data_gradient(const Request& request) {
  return offer_pass<ConvDataGradient>(request, ConvolutionPass::data_gradient,
                                      {request.outputs[0], request.inputs[1], request.inputs[0]},
                                      {1, 0});
}

Offer offer_weight_gradient(const Request& request) {
  return offer_pass<ConvWeightGradient>(request, ConvolutionPass::weight_gradient,
                                        {request.inputs[0], request.outputs[0], request.inputs[1]},
                                        {0, 1});
}

template <class Op>
Offer offer_simulated(const Request& request, ConvolutionPass pass,
                      const ConvolutionOperands& operands) {
  return offer_simulated_convolution(request, pass, operands,
                                     kernel_window(case_of<Op>(request, operands.x, operands.w)));
}

Offer simulated_conv(const Request& request) {
  return offer_simulated<Conv>(request, ConvolutionPass::forward,
                               {request.inputs[0], request.inputs[1], request.outputs[0]});
}

Offer simulated_data_gradient(const Request& request) {
  return offer_simulated<ConvDataGradient>(
      request, ConvolutionPass::data_gradient,
      {request.outputs[0], request.inputs[1], request.inputs[0]});
}

Offer simulated_weight_gradient(const Request& request) {
  return offer_simulated<ConvWeightGradient>(
      request, ConvolutionPass::weight_gradient,
      {request.inputs[0], request.outputs[0], request.inputs[1]});
}

Offer reference_conv(const Request& request) {
  const auto c = case_of<Conv>(request, request.inputs[0], request.inputs[1]);
  return reference_offer(request, [c](const auto& in, const auto& out, const KernelCall&) {
    convolve(c, in[0], in[1], in.size() > 2 ? &in[2] : nullptr, out[0]);
  });
}

Offer reference_data_gradient(const Request& request) {
  const auto c = case_of<ConvDataGradient>(request, request.outputs[0], request.inputs[1]);
  return reference_offer(request, [c](const auto& in, const auto& out, const KernelCall&) {
    convolve_data_gradient(c, in[0], in[1], out[0]);
  });
}

Offer reference_weight_gradient(const Request& request) {
  const auto c = case_of<ConvWeightGradient>(request, request.inputs[0], request.outputs[0]);
  return reference_offer(request, [c](const auto& in, const auto& out, const KernelCall&) {
    convolve_weight_gradient(c, in[0], in[1], out[0]);
  });
}

// Makes one of the offers above in a format of pairs.
template <Offer (*offer)(cpu::PairFormat, const Request&), cpu::PairFormat format>
Offer in_pairs(const Request& request) {
  return offer(format, request);
}

constexpr auto dfp16 = cpu::PairFormat::dfp16, bf16 = cpu::PairFormat::bf16;

constexpr Kernel conv_kernels[] = {{"tiles", offer_conv_tiles},
                                   {"pixels", offer_conv_pixels},
                                   {"pairs", in_pairs<offer_conv_pairs, bf16>},
                                   {"dfp16", in_pairs<offer_conv_pairs, dfp16>},
                                   {"onednn", offer_conv},
                                   {"tf32", offer_tf32},
                                   {"simulated", simulated_conv},
                                   {"reference", reference_conv}};
constexpr Kernel data_gradient_kernels[] = {{"tiles", offer_data_gradient_tiles},
                                            {"pixels", offer_data_gradient_pixels},
                                            {"pairs", in_pairs<offer_data_gradient_pairs, bf16>},
                                            {"dfp16", in_pairs<offer_data_gradient_pairs, dfp16>},
                                            {"onednn", offer_data_gradient},
                                            {"tf32", offer_tf32},
                                            {"simulated", simulated_data_gradient},
                                            {"reference", reference_data_gradient}};
constexpr Kernel weight_gradient_kernels[] = {
    {"tiles", offer_weight_gradient_tiles},
    {"pixels", offer_weight_gradient_pixels},
    {"pairs", in_pairs<offer_weight_gradient_pairs, bf16>},
    {"dfp16", in_pairs<offer_weight_gradient_pairs, dfp16>},
    {"onednn", offer_weight_gradient},
    {"tf32", offer_tf32},
    {"simulated", simulated_weight_gradient},
    {"reference", reference_weight_gradient}};

}  // namespace

std::span<const Kernel> Conv::kernels() { return conv_kernels; }
std::span<const Kernel> ConvDataGradient::kernels() { return data_gradient_kernels; }
std::span<const Kernel> ConvWeightGradient::kernels() { return weight_gradient_kernels; }

std::vector<Sample<Conv>> Conv::samples() {
  return {
      {{}, {sample("f32[2,3,5,6]"), sample("f32[4,3,3,2]"), sample("f32[4]")}},
      {{.pads = {1, 1, 1, 1}}, {sample("f32[2,3,4,4]"), sample("f32[5,3,3,3]")}},
      {{.pads = {0, 1, 2, 1}, .strides = {2, 1}},
       {sample("f32[1,2,5,4]"), sample("f32[3,2,3,3]"), sample("f32[3]")}},
      {{.dilations = {2, 1}, .group = 2}, {sample("f32[2,4,6,3]"), sample("f32[6,2,3,2]")}},
      {{.group = 3, .pads = {1, 1, 1, 1}, .strides = {2, 2}},
       {sample("f32[1,3,5,5]"), sample("f32[3,1,3,3]")}},
      {{.auto_pad = "SAME_UPPER", .strides = {2, 2}},
       {sample("f32[1,2,5,6]"), sample("f32[3,2,3,2]")}},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {2}},
       {sample("f32[2,2,5]"), sample("f32[2,2,2]")}},
      {{.auto_pad = "VALID", .strides = {1, 2, 1}},
       {sample("f32[1,2,3,4,3]"), sample("f32[2,2,2,2,2]"), sample("f32[2]")}},
      {{}, {sample("f32[3,17,1,1]"), sample("f32[9,17,1,1]"), sample("f32[9]")}},
      {{}, {sample("f32[0,2,3,3]"), sample("f32[2,2,2,2]"), sample("f32[2]")}},
  };
}

std::vector<Sample<ConvDataGradient>> ConvDataGradient::samples() {
  return {
      {{.pads = {1, 1, 1, 1}, .shape = {2, 3, 4, 5}},
       {sample("f32[2,4,4,5]"), sample("f32[4,3,3,3]")}},
      // No window sees the last column of x.
      {{.strides = {2, 2}, .shape = {1, 2, 5, 6}},
       {sample("f32[1,3,2,2]"), sample("f32[3,2,3,3]")}},
      {{.dilations = {2}, .group = 2, .shape = {2, 4, 7}},
       {sample("f32[2,2,3]"), sample("f32[2,2,3]")}},
      {{.auto_pad = "SAME_UPPER", .strides = {1, 2, 1}, .shape = {1, 2, 3, 3, 2}},
       {sample("f32[1,2,3,2,2]"), sample("f32[2,2,2,2,2]")}},
  };
}

std::vector<Sample<ConvWeightGradient>> ConvWeightGradient::samples() {
  return {
      {{.pads = {1, 1, 1, 1}, .shape = {4, 3, 3, 3}},
       {sample("f32[2,3,4,5]"), sample("f32[2,4,4,5]")}},
      {{.strides = {2, 2}, .shape = {3, 2, 3, 3}},
       {sample("f32[1,2,5,6]"), sample("f32[1,3,2,2]")}},
      {{.dilations = {2}, .group = 2, .shape = {2, 2, 3}},
       {sample("f32[2,4,7]"), sample("f32[2,2,3]")}},
      {{.auto_pad = "SAME_UPPER", .strides = {1, 2, 1}, .shape = {2, 2, 2, 2, 2}},
       {sample("f32[1,2,3,3,2]"), sample("f32[1,2,3,2,2]")}},
  };
}

}  // namespace narrowgauge

NG_OPS(conv, narrowgauge::Conv, narrowgauge::ConvDataGradient, narrowgauge::ConvWeightGradient)
