// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/contraction/matrix_operands.h"

namespace narrowgauge::cpu {
namespace {

// The stride of an operand along y's axis i; 0 if it repeats.
std::int64_t batch_stride(const View& view, std::size_t y_rank, std::size_t i) {
  const std::size_t missing = y_rank - view.dims.size();
  return i < missing || view.dims[i - missing] == 1 ? 0 : view.strides[i - missing];
}

}  // namespace

Matrices matrices_of(const MatMulViews& views) {
  const std::size_t rank = views.y.dims.size();
  const std::size_t a = views.a.dims.size(), b = views.b.dims.size();
  Matrices all{views.y.dims[rank - 2], views.y.dims[rank - 1],    views.a.dims[a - 1],
               views.a.strides[a - 2], views.a.strides[a - 1],    views.b.strides[b - 2],
               views.b.strides[b - 1], views.y.strides[rank - 2], {}};
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (views.y.dims[i] != 1)
      all.batch.push_back({views.y.dims[i], batch_stride(views.a, rank, i),
                           batch_stride(views.b, rank, i), views.y.strides[i]});
  // If b is the same for neighbouring matrices of a, their rows are rows of one matrix.
  while (!all.batch.empty()) {
    const Matrices::Axis& last = all.batch.back();
    const bool joins = all.m == 1 || (last.a == all.m * all.a_row && last.y == all.m * all.y_row);
    if (last.b != 0 || !joins) break;
    if (all.m == 1) all.a_row = last.a, all.y_row = last.y;
    all.m *= last.size;
    all.batch.pop_back();
  }
  return all;
}

}  // namespace narrowgauge::cpu
