// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/max_unpool.h"

#include "ops/nn/window.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/indexing.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The shape in which the indices count.
Shape unpooled_shape(const MaxUnpool& op, const Shape& x) {
  require(x.size() >= 3 && x.size() <= 5,
          "MaxUnpool: expected x [N, C, spatial...] with one to three spatial axes, got ", x);
  const std::size_t axes = x.size() - 2;
  check_window({"MaxUnpool", "NOTSET", op.kernel_shape, op.strides, {}, op.pads}, axes);
  Shape y{x[0], x[1]};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t stride = op.strides.empty() ? 1 : op.strides[i];
    const std::int64_t pads = op.pads.empty() ? 0 : op.pads[i] + op.pads[i + axes];
    y.push_back((x[i + 2] - 1) * stride + (op.kernel_shape[i] - pads));
    require(!y.back().is_known() || y.back().value() >= 0, "MaxUnpool: pads ", op.pads,
            " leave nothing of x ", x);
  }
  return y;
}

// Where an index of a tensor of dims `counted` lies in one of dims `y`.
std::int64_t place_of(std::int64_t index, const Dims& counted, const Dims& y) {
  require<DataError>(index >= 0 && index < element_count(counted), "MaxUnpool: index ", index,
                     " is outside of ", counted);
  const Dims place = position_of(index, counted);
  for (std::size_t i = 0; i < y.size(); ++i)
    require<DataError>(place[i] < y[i], "MaxUnpool: index ", index, " is outside of ", y);
  return index_of(place, y);
}

Offer max_unpool_reference(const Request& request) {
  const Dims& x = request.inputs[0].dims;
  const Dims counted =
      known_dims(unpooled_shape(request.as<MaxUnpool>(), Shape(x.begin(), x.end())));
  return reference_offer(request, [counted](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, 0);
    for (std::int64_t i = 0; i < in[0].size(); ++i)
      out[0].copy(place_of(in[1].integer(i), counted, out[0].dims()), in[0], i);
  });
}

Offer max_unpool_gradient_reference(const Request& request) {
  const Dims counted = known_dims(request.as<MaxUnpoolGradient>().shape);
  return reference_offer(request, [counted](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i)
      out[0].copy(i, in[0], place_of(in[1].integer(i), counted, in[0].dims()));
  });
}

constexpr Kernel max_unpool_kernels[] = {{"reference", max_unpool_reference}};
constexpr Kernel max_unpool_gradient_kernels[] = {{"reference", max_unpool_gradient_reference}};

}  // namespace

TensorTypes MaxUnpool::infer(const Inference& in) const {
  const Shape& x = in.shape(0);
  Shape y = unpooled_shape(*this, x);
  require(in.shape(1) == x, "MaxUnpool: expected an index for each element of x ", in.type(0),
          ", got ", in.type(1));
  if (!in.has(2)) return {{in.dtype(0), y}};
  const Dims given = constant_integers(in, 2, "output_shape");
  require(given.size() == x.size() && (!x[0].is_known() || x[0] == Dim(given[0])) &&
              x[1] == Dim(given[1]),
          "MaxUnpool: output_shape ", given, " does not fit x ", in.type(0));
  for (std::size_t i = 2; i < y.size(); ++i)
    require(
        given[i] >= 0 && given[i] <= INT32_MAX && (!y[i].is_known() || y[i].value() <= given[i]),
        "MaxUnpool: output_shape ", given, " is smaller than ", y);
  std::copy(given.begin() + 2, given.end(), y.begin() + 2);
  return {{in.dtype(0), y}};
}

TensorTypes MaxUnpoolGradient::infer(const Inference& in) const {
  require(shape.size() == in.shape(0).size(), "MaxUnpoolGradient: expected dy of rank ",
          shape.size(), ", got ", in.type(0));
  return {{in.dtype(0), in.shape(1)}};
}

Values MaxUnpool::gradient(Gradient& g) const {
  const Shape counted = unpooled_shape(*this, g.shape(g.input(0)));
  return {g.add(MaxUnpoolGradient{counted}, {g.output_gradient(), g.input(1)}), absent, absent};
}

std::span<const Kernel> MaxUnpool::kernels() { return max_unpool_kernels; }
std::span<const Kernel> MaxUnpoolGradient::kernels() { return max_unpool_gradient_kernels; }

}  // namespace narrowgauge

NG_OPS(max_unpool, narrowgauge::MaxUnpool, narrowgauge::MaxUnpoolGradient)
