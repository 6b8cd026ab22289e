// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/dft.h"

#include <cmath>
#include <numbers>

#include "ops/control/composite.h"
#include "ops/elementwise/expression.h"
#include "ops/math/matmul.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

struct Direction {
  bool inverse, onesided;
};

// One transform: of `in` values of `in_parts` (1: real, 2: complex) to `out` values.
struct Transform {
  std::int64_t length, in, in_parts, out, out_parts;
  bool inverse, onesided;

  Transform(std::string_view op, std::int64_t in_values, std::int64_t parts, std::int64_t size,
            Direction direction)
      : length(size),
        in(in_values),
        in_parts(parts),
        out(direction.onesided && !direction.inverse ? size / 2 + 1 : size),
        out_parts(direction.onesided && direction.inverse ? 1 : 2),
        inverse(direction.inverse),
        onesided(direction.onesided) {
    require(size >= 1 && size <= INT32_MAX, op, ": expected a positive length below 2^31, got ",
            size);
    require(parts == 1 || parts == 2, op, ": expected a last axis of 1 (real) or 2 (complex), got ",
            parts);
    require(!onesided || (inverse ? parts == 2 : parts == 1), op,
            ": a onesided transform goes from real to complex values, and its inverse back");
  }

  // [in * in_parts, out * out_parts]
  Tensor matrix(DType dtype) const {
    Tensor result(dtype, {in * in_parts, out * out_parts});
    const std::int64_t used = std::min(in, onesided && inverse ? length / 2 + 1 : length);
    for (std::int64_t n = 0; n < used; ++n)
      for (std::int64_t k = 0; k < out; ++k) {
        const double angle = (inverse ? 2 : -2) * std::numbers::pi *
                             static_cast<double>(n % length * k % length) /
                             static_cast<double>(length);
        const double cos = std::cos(angle) * factor(n), sin = std::sin(angle) * factor(n);
        const auto put = [&](std::int64_t in_part, std::int64_t out_part, double value) {
          if (in_part < in_parts && out_part < out_parts)
            result.set((n * in_parts + in_part) * out * out_parts + k * out_parts + out_part,
                       value);
        };
        put(0, 0, cos);
        put(0, 1, sin);
        put(1, 0, -sin);
        put(1, 1, cos);
      }
    return result;
  }

 private:
  // Values that a onesided inverse is not given are conjugates of those it is given.
  double factor(std::int64_t n) const {
    if (!inverse) return 1;
    const bool twice = onesided && n != 0 && 2 * n != length;
    return (twice ? 2.0 : 1.0) / static_cast<double>(length);
  }
};

std::optional<std::int64_t> one_of(std::string_view op, std::string_view port,
                                   const Tensor* tensor) {
  if (!tensor) return std::nullopt;
  require(tensor->size() == 1, op, ": expected one value in ", port, ", got ", tensor->type());
  return integers_of(*tensor)[0];
}

std::optional<std::int64_t> constant_number(const Inference& in, int input, std::string_view port) {
  if (!in.has(input)) return std::nullopt;
  return one_of(in.op_name(), port, &in.known(input, port));
}

std::optional<std::int64_t> constant_number(Rewriting& r, int input) {
  if (!r.has_input(input)) return std::nullopt;
  return integers_of(*r.graph().constant_value(r.input(input)))[0];
}

struct AxisTransform {
  std::size_t axis;
  Transform transform;
};

AxisTransform settle(const DFT& op, const Shape& x, std::optional<std::int64_t> length,
                     std::optional<std::int64_t> given_axis) {
  const auto rank = static_cast<std::int64_t>(x.size());
  require(rank >= 2, "DFT: expected x [..., n, ..., 1 or 2], got ", x);
  const std::int64_t axis = normalize_axis("DFT", given_axis.value_or(-2), rank);
  require(axis != rank - 1, "DFT: axis ", *given_axis, " holds the parts of complex values");
  const Dims sizes = known_dims({x[static_cast<std::size_t>(axis)], x.back()});
  const std::int64_t usual = op.inverse != 0 && op.onesided != 0 ? 2 * (sizes[0] - 1) : sizes[0];
  return {static_cast<std::size_t>(axis),
          {"DFT", sizes[0], sizes[1], length.value_or(usual), {op.inverse != 0, op.onesided != 0}}};
}

}  // namespace

TensorTypes DFT::infer(const Inference& in) const {
  TensorType y = in.type(0);
  const auto [axis, transform] =
      settle(*this, y.shape, constant_number(in, 1, "dft_length"), constant_number(in, 2, "axis"));
  y.shape[axis] = transform.out;
  y.shape.back() = transform.out_parts;
  return {y};
}

Values DFT::decompose(Rewriting& r) const {
  const Value x = r.input(0);
  Shape shape = r.shape(x);
  const auto [axis, t] = settle(*this, shape, constant_number(r, 1), constant_number(r, 2));
  const auto along = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const Dim outer = element_count(Shape(shape.begin(), along));
  const Dim inner = element_count(Shape(along + 1, shape.end() - 1));
  const auto reshape = [&](Value value, const Shape& to) { return r.add(ReshapeTo{to}, {value}); };
  const Value planes = reshape(x, {outer, t.in, inner, t.in_parts});
  const Value rows =
      reshape(r.add(Transpose{{0, 2, 1, 3}}, {planes}), {outer * inner, t.in * t.in_parts});
  const Value product = r.add(MatMul{}, {rows, r.constant(t.matrix(r.type(x).dtype))});
  const Value apart = reshape(product, {outer, inner, t.out, t.out_parts});
  shape[axis] = t.out;
  shape.back() = t.out_parts;
  return {reshape(r.add(Transpose{{0, 2, 1, 3}}, {apart}), shape)};
}

namespace {

struct Frames {
  std::int64_t length, step, count;
};

Frames frames_of(const Shape& signal, std::int64_t step, std::int64_t length) {
  const std::int64_t size = known_dims({signal[1]})[0];
  require(step >= 1, "STFT: frame_step must be positive, got ", step);
  require(length >= 1 && length <= size, "STFT: a frame of ", length,
          " does not fit into a signal of ", size);
  return {length, step, (size - length) / step + 1};
}

Transform transform_of(const STFT& op, const Shape& signal, const Frames& frames) {
  return {
      "STFT", frames.length, known_dims({signal[2]})[0], frames.length, {false, op.onesided != 0}};
}

}  // namespace

TensorTypes STFT::infer(const Inference& in) const {
  const Shape& signal = in.shape(0);
  require(signal.size() == 3, "STFT: expected a signal [N, length, 1 or 2], got ", in.type(0));
  require(!in.has(2) || in.rank(2) == 1, "STFT: expected a window of rank 1, got ",
          in.has(2) ? in.type(2) : TensorType{});
  const std::int64_t usual = known_dims({in.has(2) ? in.shape(2)[0] : signal[1]})[0];
  const std::int64_t length = constant_number(in, 3, "frame_length").value_or(usual);
  require(!in.has(2) || in.shape(2) == Shape{length}, "STFT: a window of ", usual,
          " does not fit a frame_length of ", length);
  const Frames frames = frames_of(signal, *constant_number(in, 1, "frame_step"), length);
  const Transform t = transform_of(*this, signal, frames);
  return {{in.dtype(0), {signal[0], frames.count, t.out, t.out_parts}}};
}

Values STFT::decompose(Rewriting& r) const {
  const Shape signal = r.shape(r.input(0));
  const Dim usual = r.has_input(2) ? r.shape(r.input(2))[0] : signal[1];
  const Frames frames = frames_of(signal, *constant_number(r, 1),
                                  constant_number(r, 3).value_or(known_dims({usual})[0]));
  const Transform t = transform_of(*this, signal, frames);
  Tensor places(DType::i64, {frames.count, frames.length});
  for (std::int64_t i = 0; i < places.size(); ++i)
    places.set(i, static_cast<double>(i / frames.length * frames.step + i % frames.length));
  Value cut = r.add(Gather{1}, {r.input(0), r.constant(places)});
  if (r.has_input(2)) {
    const Value window = r.add(ReshapeTo{Shape{frames.length, 1}}, {r.input(2)});
    cut = Expression{r, cut} * Expression{r, window};
  }
  const Value rows = r.add(ReshapeTo{Shape{signal[0], frames.count, t.in * t.in_parts}}, {cut});
  const Value product = r.add(MatMul{}, {rows, r.constant(t.matrix(r.type(rows).dtype))});
  return {r.add(ReshapeTo{Shape{signal[0], frames.count, t.out, t.out_parts}}, {product})};
}

std::span<const Kernel> DFT::kernels() { return composite_kernels(); }
std::span<const Kernel> STFT::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(dft, narrowgauge::DFT, narrowgauge::STFT)
