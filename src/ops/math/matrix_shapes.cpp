// SPDX-License-Identifier: Apache-2.0
#include "ops/math/matrix_shapes.h"

#include "ops/elementwise/elementwise.h"
#include "ops/offers/contraction.h"

namespace narrowgauge {

namespace {

// y with or without the axes that stand for vectors.
Shape without_vectors(Shape y, bool a_is_vector, bool b_is_vector) {
  if (b_is_vector) y.pop_back();
  if (a_is_vector) y.erase(y.end() - (b_is_vector ? 1 : 2));
  return y;
}

void insert_axis(cpu::View& view, std::size_t from_end) {
  const auto place = static_cast<std::ptrdiff_t>(view.dims.size() - from_end);
  view.dims.insert(view.dims.begin() + place, 1);
  view.strides.insert(view.strides.begin() + place, 0);
}

}  // namespace

Shape as_matrix(Shape shape, bool left) {
  if (shape.size() == 1) shape.insert(left ? shape.begin() : shape.end(), 1);
  return shape;
}

Shape product_shape(std::string_view op, const Shape& a, const Shape& b) {
  require(a.back() == b[b.size() - 2], op, ": a ", a, " and b ", b,
          " do not share the axis to sum over");
  Shape shape = broadcast_shapes(op, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b.back());
  return shape;
}

Shape matmul_shape(std::string_view op, const TensorType& a, const TensorType& b) {
  require(!a.shape.empty() && !b.shape.empty(), op, ": expected operands of rank 1 or more, got ",
          a, " and ", b);
  const Shape y = product_shape(op, as_matrix(a.shape, true), as_matrix(b.shape, false));
  return without_vectors(y, a.shape.size() == 1, b.shape.size() == 1);
}

double product_flops(const TensorType& y, const Dim& summed) {
  return 2.0 * static_cast<double>(element_count(known_dims(y.shape))) *
         static_cast<double>(summed.value());
}

cpu::MatMulViews matrix_views(const Operand& a, const Operand& b, const Operand& y) {
  cpu::MatMulViews views{kernel_view(a), kernel_view(b), kernel_view(y), {}};
  const bool b_is_vector = views.b.dims.size() == 1;
  if (b_is_vector) {
    insert_axis(views.b, 0);
    insert_axis(views.y, 0);
  }
  if (views.a.dims.size() == 1) {
    insert_axis(views.a, 1);
    insert_axis(views.y, 1);
  }
  return views;
}

std::int64_t matrix_index(std::int64_t batch, const Dims& y, const Dims& operand) {
  std::int64_t index = 0, step = 1;
  for (std::size_t i = 3; i <= y.size(); ++i) {
    const std::int64_t place = batch % y[y.size() - i];
    batch /= y[y.size() - i];
    if (i > operand.size()) continue;
    const std::int64_t size = operand[operand.size() - i];
    if (size > 1) index += place * step;
    step *= size;
  }
  return index;
}

}  // namespace narrowgauge
