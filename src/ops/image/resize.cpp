// SPDX-License-Identifier: Apache-2.0
#include "ops/image/resize.h"

#include "ops/control/composite.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/image/resize_axis.h"
#include "ops/math/matmul.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// An empty tensor stands for an input that is not given.
const Tensor* unless_empty(const Tensor* tensor) {
  return tensor && tensor->size() > 0 ? tensor : nullptr;
}

const Tensor* constant_input(const Inference& in, int input, std::string_view port) {
  if (!in.has(input) || in.shape(input) == Shape{0}) return nullptr;
  return unless_empty(&in.known(input, port));
}

const Tensor* constant_input(Rewriting& r, int input) {
  return r.has_input(input) ? unless_empty(r.graph().constant_value(r.input(input))) : nullptr;
}

// The product of `weights` [out, in] with x along an axis.
Value multiply_axis(Rewriting& r, Value x, const Tensor& weights, std::size_t axis) {
  Shape shape = r.shape(x);
  const auto along = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const Dim outer = element_count(Shape(shape.begin(), along));
  const Dim inner = element_count(Shape(along + 1, shape.end()));
  const Value matrix = r.constant(weights.cast(r.type(x).dtype));
  const Value planes = r.add(ReshapeTo{Shape{outer, *along, inner}}, {x});
  const Value y = r.add(MatMul{}, {matrix, planes});
  *along = weights.dims()[0];
  return r.add(ReshapeTo{shape}, {y});
}

}  // namespace

TensorTypes Resize::infer(const Inference& in) const {
  const ResizeInputs inputs{constant_input(in, 1, "roi"), constant_input(in, 2, "scales"),
                            constant_input(in, 3, "sizes")};
  TensorType y = in.type(0);
  for (const ResizeAxis& axis : resized_axes(*this, y.shape, inputs)) y.shape[axis.axis] = axis.out;
  return {y};
}

Values Resize::decompose(Rewriting& r) const {
  const Value x = r.input(0);
  const DType dtype = r.type(x).dtype;
  const auto changed = resized_axes(
      *this, r.shape(x), {constant_input(r, 1), constant_input(r, 2), constant_input(r, 3)});
  Value y = x;
  if (mode != "nearest" && !changed.empty()) y = in_dtype(r, x, statistics_dtype(dtype));
  for (const ResizeAxis& axis : changed)
    y = mode == "nearest" ? r.add(Gather{static_cast<std::int64_t>(axis.axis)},
                                  {y, r.constant(list_of(nearest_elements(*this, axis)))})
                          : multiply_axis(r, y, resize_weights(*this, axis), axis.axis);
  for (const ResizeAxis& axis : changed) {
    const auto mask = inside_mask(*this, axis);
    if (!mask) continue;
    Dims column(r.shape(y).size() - axis.axis, 1);
    column[0] = axis.out;
    y = where(Expression{r, r.constant(mask->reshaped(column))}, Expression{r, y},
              extrapolation_value);
  }
  return {in_dtype(r, y, dtype)};
}

std::span<const Kernel> Resize::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(resize, narrowgauge::Resize)
