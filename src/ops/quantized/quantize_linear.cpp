// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_linear.h"

#include "narrowgauge/graph.h"
#include "ops/elementwise/expression.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/math/reduce.h"
#include "ops/no_gradient.h"
#include "ops/quantized/quantize_linear_kernels.h"
#include "ops/shape/axes.h"
#include "ops/shape/pad.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Whether `scale` has a value for each block of `size` along an axis of x.
bool has_blocks(const Shape& x, const Shape& scale, std::size_t axis, std::int64_t size) {
  if (scale.size() != x.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (scale[i] != (i == axis ? (x[i] + (size - 1)) / size : x[i])) return false;
  return true;
}

void require_scales(const Inference& in, std::int64_t axis, std::int64_t block_size) {
  const Shape &x = in.shape(0), &scale = in.shape(1);
  const auto is_single = [](const Shape& shape) { return shape.size() <= 1 && is_one(shape); };
  if (in.has(2))
    require(in.shape(2) == scale || (is_single(in.shape(2)) && is_single(scale)), in.op_name(),
            ": expected a zero point for each scale of ", scale, ", got ", in.shape(2));
  require(block_size >= 0 && block_size <= INT32_MAX, in.op_name(),
          ": block_size must not be negative and below 2^31, got ", block_size);
  if (block_size == 0 && is_single(scale)) return;
  const std::size_t at = normalize_axis(in.op_name(), axis, x.size());
  if (block_size > 0)
    require(has_blocks(x, scale, at, block_size), in.op_name(), ": expected a scale for each ",
            block_size, " of axis ", at, " of ", x, ", got ", scale);
  else
    require(scale == Shape{x[at]}, in.op_name(), ": expected one scale or ", x[at],
            " of them for axis ", at, " of ", x, ", got ", scale);
}

bool is_quantised(DType dtype) {
  return is_small_float(dtype) || (is_integer(dtype) && bits(dtype) <= 16);
}

void require_scale_dtype(const Inference& in) {
  require(is_floating(in.dtype(1)) && in.dtype(1) != DType::f4e2m1, in.op_name(),
          ": a scale cannot be ", in.dtype(1));
}

}  // namespace

TensorTypes QuantizeLinear::infer(const Inference& in) const {
  require_scales(in, axis, block_size);
  require_scale_dtype(in);
  const DType to = in.has(2) ? in.dtype(2) : output_dtype;
  require(is_quantised(to), "QuantizeLinear: y cannot be ", to);
  require((is_floating(in.dtype(0)) && !is_storage_only(in.dtype(0))) || in.dtype(0) == DType::i32,
          "QuantizeLinear: expected x of a float type or i32, got ", in.dtype(0));
  return {{to, in.shape(0)}};
}

TensorTypes DequantizeLinear::infer(const Inference& in) const {
  require_scales(in, axis, block_size);
  require_scale_dtype(in);
  const DType from = in.dtype(0);
  require(is_quantised(from) || from == DType::i32, "DequantizeLinear: x cannot be ", from);
  const DType to = output_dtype == dtype_of_scale ? in.dtype(1) : output_dtype;
  require(is_floating(to) && bits(to) > 8, "DequantizeLinear: y cannot be ", to,
          "; output_dtype says what it is");
  return {{to, in.shape(0)}};
}

TensorTypes DynamicQuantizeLinear::infer(const Inference& in) const {
  return {{DType::u8, in.shape(0)}, {DType::f32, {}}, {DType::u8, {}}};
}

namespace {

// Sums of x over what shares a scale, in the shape of the scales.
Value sum_of_each_scale(Gradient& g, Value x, const DequantizeLinear& op) {
  const Shape shape = g.shape(x), scale = g.shape(g.input(1));
  if (op.block_size == 0 && scale.size() <= 1 && is_one(scale))
    return g.add(ReshapeTo{scale}, {g.add(ReduceSum{.keepdims = 0}, {x})});
  const std::size_t axis = normalize_axis("DequantizeLinear", op.axis, shape.size());
  const auto along = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  Shape lines{element_count(Shape(shape.begin(), along)), *along, 1,
              element_count(Shape(along + 1, shape.end()))};
  if (op.block_size > 0) {
    const std::int64_t blocks = known_dims({scale[axis]})[0];
    const std::int64_t missing = blocks * op.block_size - known_dims({*along})[0];
    const Value flat = g.add(ReshapeTo{{lines[0], lines[1], lines[3]}}, {x});
    x = g.add(Pad{}, {flat, g.constant(list_of(Dims{0, 0, 0, 0, missing, 0}))});
    lines[1] = blocks;
    lines[2] = op.block_size;
  }
  const Value axes = g.constant(list_of(op.block_size > 0 ? Dims{2} : Dims{0, 2, 3}));
  const Value sums = g.add(ReduceSum{.keepdims = 0}, {g.add(ReshapeTo{lines}, {x}), axes});
  return g.add(ReshapeTo{scale}, {sums});
}

}  // namespace

Values DequantizeLinear::gradient(Gradient& g) const {
  Values gradients = g.absent_inputs();
  const TensorType scale = g.type(g.input(1));
  if (bits(scale.dtype) == 8) return gradients;
  const DType wide = statistics_dtype(scale.dtype);
  const Value one = g.add(ExpandTo{scale.shape}, {g.scalar(1, wide)});
  const Value steps =
      g.add(DequantizeLinear{axis, block_size, wide}, {g.input(0), one, g.input(2)});
  const Expression dy(g, in_dtype(g, g.output_gradient(), wide));
  const Value sums = sum_of_each_scale(g, dy * Expression(g, steps), *this);
  gradients[1] = in_dtype(g, sums, scale.dtype);
  return gradients;
}

std::span<const Kernel> QuantizeLinear::kernels() { return quantize_linear_kernels(); }
std::span<const Kernel> DequantizeLinear::kernels() { return dequantize_linear_kernels(); }
std::span<const Kernel> DynamicQuantizeLinear::kernels() { return dynamic_quantize_kernels(); }

}  // namespace narrowgauge

NG_OPS(quantize_linear, narrowgauge::QuantizeLinear, narrowgauge::DequantizeLinear,
       narrowgauge::DynamicQuantizeLinear)
NG_NO_GRADIENT(quantize_linear, "constant almost everywhere", narrowgauge::QuantizeLinear,
               narrowgauge::DynamicQuantizeLinear)
