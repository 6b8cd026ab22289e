// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/contraction/matmul_operands.h"

#include <algorithm>

namespace narrowgauge::cpu {

void check_matmul_shapes(const MatMulViews& views) {
  const Dims &a = views.a.dims, &b = views.b.dims, &y = views.y.dims;
  const auto fit = [&] {
    if (a.size() < 2 || b.size() < 2 || y.size() != std::max(a.size(), b.size())) return false;
    if (a.back() != b[b.size() - 2] || a[a.size() - 2] != y[y.size() - 2] || b.back() != y.back())
      return false;
    for (std::size_t axis = 0; axis + 2 < y.size(); ++axis) {
      const std::size_t before_a = y.size() - a.size(), before_b = y.size() - b.size();
      const std::int64_t in_a = axis < before_a ? 1 : a[axis - before_a];
      const std::int64_t in_b = axis < before_b ? 1 : b[axis - before_b];
      if ((in_a != y[axis] && in_a != 1) || (in_b != y[axis] && in_b != 1)) return false;
      if (in_a != y[axis] && in_b != y[axis]) return false;
    }
    return true;
  };
  require(fit(), "matmul: a ", a, " and b ", b, " do not give y ", y);
  if (views.bias)
    require(views.bias->dims == Dims{y.back()}, "matmul: expected a bias of ", y.back(),
            " values, got ", views.bias->dims);
}

namespace {

void erase(View& view, std::size_t axis) {
  view.dims.erase(view.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(axis));
}

void drop_single_axes(MatMulOperands& o) {
  for (std::size_t axis = o.batch_rank(); axis-- > 0;)
    if (o.y.dims[axis] == 1)
      for (View* view : {&o.a, &o.b, &o.y}) erase(*view, axis);
}

bool merges(const View& view, std::size_t axis) {
  return (view.dims[axis] == 1 && view.dims[axis + 1] == 1) ||
         view.strides[axis] == view.dims[axis + 1] * view.strides[axis + 1];
}

void merge(View& view, std::size_t axis) {
  view.dims[axis + 1] *= view.dims[axis];
  erase(view, axis);
}

// Whether both this axis and the next repeat, or neither does.
bool alike(const View& view, std::size_t axis) {
  return (view.dims[axis] == 1) == (view.dims[axis + 1] == 1);
}

}  // namespace

MatMulOperands matmul_operands(const MatMulViews& views) {
  MatMulOperands o{views.a, views.b, views.y};
  auto& [a, b, y] = o;
  for (View* view : {&a, &b}) {
    const std::size_t missing = y.dims.size() - view->dims.size();
    view->dims.insert(view->dims.begin(), missing, 1);
    view->strides.insert(view->strides.begin(), missing, 0);
  }
  drop_single_axes(o);
  for (std::size_t axis = o.batch_rank(); axis-- > 1;)
    if (merges(a, axis - 1) && merges(b, axis - 1) && merges(y, axis - 1) && alike(a, axis - 1) &&
        alike(b, axis - 1))
      for (View* view : {&a, &b, &y}) merge(*view, axis - 1);
  // If b is the same for every matrix of a, the rows of all of them are rows of one matrix.
  while (o.batch_rank() > 0 && b.dims[o.batch_rank() - 1] == 1 && merges(a, o.batch_rank() - 1) &&
         merges(y, o.batch_rank() - 1)) {
    const std::size_t axis = o.batch_rank() - 1;
    merge(a, axis);
    merge(y, axis);
    erase(b, axis);
  }
  return o;
}

}  // namespace narrowgauge::cpu
