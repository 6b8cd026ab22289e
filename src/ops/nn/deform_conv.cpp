// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/deform_conv.h"

#include <numeric>

#include "ops/control/composite.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/image/grid_sample.h"
#include "ops/math/matmul.h"
#include "ops/nn/conv.h"
#include "ops/nn/conv_window.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather.h"
#include "ops/shape/indexing.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The attributes that Conv has too.
struct PlainConv {
  static constexpr OpInfo info = DeformConv::info;
  std::string auto_pad = "NOTSET";
  Dims dilations;
  std::int64_t group;
  Dims kernel_shape, pads, strides;
};
PlainConv plain(const DeformConv& op) {
  return {"NOTSET", op.dilations, op.group, op.kernel_shape, op.pads, op.strides};
}

// `front` and then `back`.
Shape joined(Shape front, const Shape& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

// The places of the taps without offsets [1, 1, taps, axes, out...], in elements.
Tensor tap_places(const Window& window, const Dims& out, DType dtype) {
  const auto axes = static_cast<std::int64_t>(out.size());
  const std::int64_t taps = element_count(window.kernel), size = element_count(out);
  Dims dims{1, 1, taps, axes};
  dims.insert(dims.end(), out.begin(), out.end());
  Tensor places(dtype, dims);
  for (std::int64_t i = 0; i < places.size(); ++i) {
    const auto axis = static_cast<std::size_t>(i / size % axes);
    const Dims tap = position_of(i / size / axes, window.kernel),
               place = position_of(i % size, out);
    places.set(i, static_cast<double>(place[axis] * window.strides[axis] - window.pads_begin[axis] +
                                      tap[axis] * window.dilations[axis]));
  }
  return places;
}

}  // namespace

TensorTypes DeformConv::infer(const Inference& in) const {
  const Shape &x = in.shape(0), &w = in.shape(1);
  const Shape y = output_shape(plain(*this), x, w);
  require(is_known(spatial_part(x)) && x[1].is_known(), "DeformConv: x ", in.type(0),
          " must have known channels and sizes");
  for (const std::int64_t size : known_dims(spatial_part(x)))
    require(size > 0, "DeformConv: x ", in.type(0), " has no elements to sample");
  require(offset_group >= 1 && x[1].value() % offset_group == 0, "DeformConv: offset_group ",
          offset_group, " does not divide the channels of x ", in.type(0));
  const Dim taps = element_count(spatial_part(w)) * offset_group;
  const auto axes = static_cast<std::int64_t>(x.size() - 2);
  const Shape offset = joined({x[0], taps * axes}, spatial_part(y));
  require(in.shape(2) == offset, "DeformConv: expected an offset ", offset, ", got ", in.type(2));
  if (in.has(3))
    require(in.shape(3) == Shape{w[0]}, "DeformConv: expected b of ", w[0], " values, got ",
            in.type(3));
  const Shape mask = joined({x[0], taps}, spatial_part(y));
  if (in.has(4))
    require(in.shape(4) == mask, "DeformConv: expected a mask ", mask, ", got ", in.type(4));
  return {{in.dtype(0), y}};
}

namespace {

// The grid for GridSample [N * groups, taps * out0, out1..., axes] of places in elements [N,
// groups, taps, axes, out...].
Value grid_of(Rewriting& r, Expression places, const Dims& x) {
  const Shape shape = r.shape(places);
  const std::size_t axes = x.size();
  Dims column(axes + 1, 1), backwards(axes), order{0, 1, 2};
  column[0] = static_cast<std::int64_t>(axes);
  Tensor scale(DType::f64, column), shift(DType::f64, column);
  for (std::size_t i = 0; i < axes; ++i) {
    const auto size = static_cast<double>(x[i]);
    scale.set(static_cast<std::int64_t>(i), 2 / size);
    shift.set(static_cast<std::int64_t>(i), 1 / size - 1);
    backwards[i] = static_cast<std::int64_t>(axes - 1 - i);
    order.push_back(static_cast<std::int64_t>(i + 4));
  }
  order.push_back(3);
  const DType dtype = r.type(places).dtype;
  const Expression normal = places * Expression{r, r.constant(scale.cast(dtype))} +
                            Expression{r, r.constant(shift.cast(dtype))};
  const Value reversed = r.add(Gather{3}, {normal, r.constant(list_of(backwards))});
  const Value last = r.add(Transpose{order}, {reversed});
  Shape grid{shape[0] * shape[1], shape[2] * shape[4]};
  grid.insert(grid.end(), shape.begin() + 5, shape.end());
  grid.push_back(static_cast<std::int64_t>(axes));
  return r.add(ReshapeTo{grid}, {last});
}

}  // namespace

Values DeformConv::decompose(Rewriting& r) const {
  const Shape x = r.shape(r.input(0)), w = r.shape(r.input(1));
  const Shape y = output_shape(plain(*this), x, w);
  const Dims in = known_dims(spatial_part(x)), out = known_dims(spatial_part(y));
  const Window window = resolve_window(window_of(plain(*this), known_dims(spatial_part(w))), in);
  const std::int64_t taps = element_count(window.kernel), size = element_count(out);
  const Dim batch = x[0], channels = x[1];
  const auto reshape = [&](Value value, const Shape& shape) {
    return r.add(ReshapeTo{shape}, {value});
  };
  const auto axes = static_cast<std::int64_t>(in.size());
  const Shape apart = joined({batch, offset_group, taps, axes}, spatial_part(y));
  const Expression offset = widened(r, reshape(r.input(2), apart));
  const Value base = r.constant(tap_places(window, out, r.type(offset).dtype));
  const Value images =
      reshape(r.input(0), joined({batch * offset_group, channels / offset_group}, spatial_part(x)));
  const Value grid = grid_of(r, offset + Expression{r, base}, in);
  Value columns = r.add(GridSample{}, {images, grid});
  if (r.has_input(4)) {
    const Value read = reshape(columns, {batch, offset_group, channels / offset_group, taps, size});
    const Value mask = reshape(r.input(4), {batch, offset_group, 1, taps, size});
    columns = Expression{r, read} * Expression{r, mask};
  }
  columns = reshape(columns, {batch, group, channels / group * taps, size});
  const Value weights = reshape(r.input(1), {group, w[0] / group, w[1] * taps});
  const Value product = reshape(r.add(MatMul{}, {weights, columns}), y);
  if (!r.has_input(3)) return {product};
  Shape bias(x.size() - 1, 1);
  bias[0] = w[0];
  return {Expression{r, product} + Expression{r, reshape(r.input(3), bias)}};
}

std::span<const Kernel> DeformConv::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(deform_conv, narrowgauge::DeformConv)
