// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/shape_of.h"

#include <algorithm>

#include "ops/control/composite.h"
#include "ops/no_gradient.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

std::int64_t clamped_axis(std::int64_t axis, std::int64_t rank) {
  return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
}

Shape chosen(const ShapeOf& op, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t first = clamped_axis(op.start, rank);
  const std::int64_t last = std::max(first, clamped_axis(op.end, rank));
  return {shape.begin() + first, shape.begin() + last};
}

}  // namespace

TensorTypes ShapeOf::infer(const Inference& in) const {
  return {{DType::i64, {static_cast<std::int64_t>(chosen(*this, in.shape(0)).size())}}};
}

std::optional<Shape> ShapeOf::numbers(const Inference& in) const {
  return chosen(*this, in.shape(0));
}

Values ShapeOf::decompose(Rewriting& r) const {
  return {r.constant(list_of(known_dims(chosen(*this, r.shape(r.input(0))))))};
}

TensorTypes SizeOf::infer(const Inference&) const { return {{DType::i64, {}}}; }

std::optional<Shape> SizeOf::numbers(const Inference& in) const {
  return Shape{element_count(in.shape(0))};
}

Values SizeOf::decompose(Rewriting& r) const {
  const std::int64_t count = element_count(known_dims(r.shape(r.input(0))));
  return {r.constant(Tensor::from<std::int64_t>({}, std::vector<std::int64_t>{count}))};
}

std::span<const Kernel> ShapeOf::kernels() { return composite_kernels(); }
std::span<const Kernel> SizeOf::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(shape_of, narrowgauge::ShapeOf, narrowgauge::SizeOf)
NG_NO_GRADIENT(shape_of, "whole numbers", narrowgauge::ShapeOf, narrowgauge::SizeOf)
