// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "ops/offers/convolution.h"
#include "ops/pointwise/in_dtype.h"
#include "ops/units/simulated.h"
#include "ops/units/simulated_sums.h"

namespace narrowgauge {

namespace {

using cpu::ConvolutionPass;
using Axis = ProductLines::Axis;

// The place that tap `tap` of output place `out` reads along a spatial axis of x; -1 if outside.
std::int64_t input_place(const cpu::ConvolutionWindow& window, std::size_t axis, std::int64_t out,
                         std::int64_t tap, std::int64_t size) {
  const std::int64_t place =
      out * window.strides[axis] + tap * window.dilations[axis] - window.pads_begin[axis];
  return place >= 0 && place < size ? place : -1;
}

// The output place that reads input place `in` with tap `tap`; -1: none.
std::int64_t output_place(const cpu::ConvolutionWindow& window, std::size_t axis, std::int64_t in,
                          std::int64_t tap, std::int64_t size) {
  const std::int64_t far = in + window.pads_begin[axis] - tap * window.dilations[axis],
                     step = window.strides[axis];
  return far >= 0 && far % step == 0 && far / step < size ? far / step : -1;
}

template <class Place>
Axis make_axis(std::int64_t lines, std::int64_t depth, std::int64_t stride, const Place& place) {
  Axis axis{lines, depth, {}};
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t at = place(line, k);
      axis.offsets.push_back(at < 0 ? -1 : at * stride);
    }
  return axis;
}

struct Problem {
  const Operand &x, &w, &y;
  const cpu::ConvolutionWindow& window;

  std::size_t axes() const { return x.dims.size() - 2; }
  std::int64_t in_channels() const { return w.dims[1]; }  // of a group
  std::int64_t out_channels() const { return w.dims[0] / window.groups; }

  // Lines whose places do not depend on k, such as those of weights: k counts the places.
  std::vector<Axis> plain_axes(const Operand& operand) const {
    std::vector<Axis> all;
    for (std::size_t i = 0; i < axes(); ++i)
      all.push_back(make_axis(1, operand.dims[i + 2], operand.strides[i + 2],
                              [](std::int64_t, std::int64_t k) { return k; }));
    return all;
  }
};

// The forward product has rows (image, place of y) and k (tap, channel of x); the data gradient has
// x and y exchanged.
SimulatedProduct image_product(const Problem& p, bool forward) {
  using Part = ProductLines::Part;
  const Operand &read = forward ? p.x : p.y, &made = forward ? p.y : p.x;
  const Part in{p.in_channels(), p.w.strides[1]}, out{p.out_channels(), p.w.strides[0]};
  const Part &depth = forward ? in : out, &lines = forward ? out : in;
  const auto& place = forward ? input_place : output_place;
  SimulatedProduct product;
  product.a.line_outer = {read.dims[0], read.strides[0]};
  product.a.depth_inner = {depth.size, read.strides[1]};
  for (std::size_t i = 0; i < p.axes(); ++i)
    product.a.axes.push_back(make_axis(made.dims[i + 2], p.w.dims[i + 2], read.strides[i + 2],
                                       [&](std::int64_t row, std::int64_t tap) {
                                         return place(p.window, i, row, tap, read.dims[i + 2]);
                                       }));
  product.b.line_outer = lines;
  product.b.depth_inner = depth;
  product.b.axes = p.plain_axes(p.w);
  for (std::int64_t g = 0; g < p.window.groups; ++g)
    product.batches.push_back({g * depth.size * read.strides[1], g * out.size * out.stride});
  return product;
}

// The weight gradient has rows (tap, channel of x) and k (image, place of y).
SimulatedProduct weight_product(const Problem& p) {
  SimulatedProduct product;
  product.a.line_inner = {p.in_channels(), p.x.strides[1]};
  product.a.depth_outer = {p.x.dims[0], p.x.strides[0]};
  for (std::size_t i = 0; i < p.axes(); ++i)
    product.a.axes.push_back(make_axis(p.w.dims[i + 2], p.y.dims[i + 2], p.x.strides[i + 2],
                                       [&](std::int64_t t, std::int64_t o) {
                                         return input_place(p.window, i, o, t, p.x.dims[i + 2]);
                                       }));
  product.b.line_outer = {p.out_channels(), p.y.strides[1]};
  product.b.depth_outer = {p.y.dims[0], p.y.strides[0]};
  product.b.axes = p.plain_axes(p.y);
  for (std::int64_t g = 0; g < p.window.groups; ++g)
    product.batches.push_back(
        {g * p.in_channels() * p.x.strides[1], g * p.out_channels() * p.y.strides[1]});
  return product;
}

// One group of the result, as sums and as a tensor with channels in front. The sums have rows
// (image, places), or for weights (taps, channel).
struct Results {
  cpu::View sums, tensor;
  std::int64_t sums_each = 0, tensor_each = 0;  // elements from one group to the next
};

Results image_results(const Operand& images, std::int64_t channels) {
  Results results;
  Dims dims = images.dims;
  dims[1] = channels;
  results.tensor = {images.dtype, dims, images.strides};
  results.sums = cpu::channels_last_view(statistics_dtype(images.dtype), dims);
  results.sums_each = element_count(dims);
  results.tensor_each = channels * images.strides[1];
  return results;
}

// The sums lie in the order taps, input channels, output channels.
Results weight_results(const Operand& w, std::int64_t out_channels) {
  Results results;
  Dims dims = w.dims;
  dims[0] = out_channels;
  Dims strides(dims.size());
  strides[0] = 1;
  strides[1] = out_channels;
  std::int64_t stride = out_channels * dims[1];
  for (std::size_t axis = dims.size(); axis-- > 2;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  results.tensor = {w.dtype, dims, w.strides};
  results.sums = {statistics_dtype(w.dtype), dims, strides};
  results.sums_each = element_count(dims);
  results.tensor_each = out_channels * w.strides[0];
  return results;
}

void store_groups(const Results& results, std::int64_t groups, const KernelCall& call,
                  const void* sums) {
  for (std::int64_t g = 0; g < groups; ++g)
    store_sums(results.sums, cpu::at_offset(sums, results.sums.dtype, g * results.sums_each),
               results.tensor,
               cpu::at_offset(call.outputs[0].data, results.tensor.dtype, g * results.tensor_each),
               call.flushed_at(0));
}

Offer offer_forward(const Request& request, const Problem& p) {
  SimulatedProduct product = image_product(p, true);
  const Results results = image_results(p.y, p.out_channels());
  const bool biased = request.inputs.size() > 2 && request.inputs[2].present;
  const Operand bias = biased ? request.inputs[2] : Operand{.present = false};
  const std::int64_t groups = p.window.groups, columns = p.out_channels();
  const std::int64_t rows = columns > 0 ? results.sums_each / columns : 0;
  product.finish = [=](const KernelCall& call, void* sums) {
    for (std::int64_t g = 0; g < groups && bias.present; ++g)
      add_row(bias, cpu::at_offset(call.inputs[2].data, bias.dtype, g * columns * bias.strides[0]),
              rows, columns, cpu::at_offset(sums, results.sums.dtype, g * results.sums_each));
    store_groups(results, groups, call, sums);
  };
  return offer_simulated(request, std::move(product));
}

Offer offer_gradient(const Request& request, SimulatedProduct product, const Results& results,
                     std::int64_t groups) {
  product.finish = [=](const KernelCall& call, void* sums) {
    store_groups(results, groups, call, sums);
  };
  return offer_simulated(request, std::move(product));
}

}  // namespace

Offer simulated_convolution(const ConvolutionRequest& given) {
  const auto& [request, c, inputs] = given;
  std::string reason = simulated_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Problem p{c.x, c.w, c.y, c.window};
  if (c.pass == ConvolutionPass::forward) return offer_forward(request, p);
  if (c.pass == ConvolutionPass::data_gradient)
    return offer_gradient(request, image_product(p, false), image_results(p.x, p.in_channels()),
                          c.window.groups);
  return offer_gradient(request, weight_product(p), weight_results(p.w, p.out_channels()),
                        c.window.groups);
}

}  // namespace narrowgauge
