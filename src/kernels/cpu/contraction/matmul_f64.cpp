// SPDX-License-Identifier: Apache-2.0
// Matrix products over f64: rows of the result in parallel, each summed over K in order.

#include "base/indexed_vector.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/contraction/contraction_parts.h"

namespace narrowgauge::cpu {
namespace {

// A view's strides aligned with y's axes, 0 where it broadcasts.
Dims batch_strides(const View& view, std::size_t rank) {
  Dims strides(rank - 2, 0);
  const std::size_t missing = rank - view.dims.size();
  for (std::size_t axis = 0; axis + 2 < view.dims.size(); ++axis)
    if (view.dims[axis] > 1) strides[axis + missing] = view.strides[axis];
  return strides;
}

struct Matrix {
  Dims batch;
  std::int64_t row, column;
  Matrix(const View& view, std::size_t rank)
      : batch(batch_strides(view, rank)),
        row(view.strides[view.strides.size() - 2]),
        column(view.strides.back()) {}
};

class MatMul64 {
 public:
  explicit MatMul64(const MatMulViews& views)
      : dims_(views.y.dims),
        depth_(views.a.dims.back()),
        a_(views.a, dims_.size()),
        b_(views.b, dims_.size()),
        y_(views.y, dims_.size()),
        bias_stride_(views.bias ? views.bias->strides[0] : 0) {}

  void run(const double* a, const double* b, const double* bias, double* y) const {
    const std::int64_t columns = dims_.back();
    parallel_for(element_count(dims_) / columns, 4, [&](std::int64_t begin, std::int64_t end) {
      Sums sums(columns);
      for (std::int64_t row = begin; row < end; ++row) {
        std::int64_t in_a = 0, in_b = 0, in_y = 0, rest = row;
        const std::int64_t m = rest % dims_[dims_.size() - 2];
        rest /= dims_[dims_.size() - 2];
        for (std::size_t axis = dims_.size() - 2; axis-- > 0; rest /= dims_[axis]) {
          in_a += rest % dims_[axis] * a_.batch[axis];
          in_b += rest % dims_[axis] * b_.batch[axis];
          in_y += rest % dims_[axis] * y_.batch[axis];
        }
        for (std::int64_t n = 0; n < columns; ++n) sums[n] = bias ? bias[n * bias_stride_] : 0;
        add_row(a + in_a + m * a_.row, b + in_b, sums);
        for (std::int64_t n = 0; n < columns; ++n) y[in_y + m * y_.row + n * y_.column] = sums[n];
      }
    });
  }

 private:
  using Sums = IndexedVector<std::int64_t, double>;

  void add_row(const double* a, const double* b, Sums& sums) const {
    for (std::int64_t k = 0; k < depth_; ++k) {
      const double factor = a[k * a_.column];
      const double* row = b + k * b_.row;
      for (std::int64_t n = 0; n < sums.size(); ++n) sums[n] += factor * row[n * b_.column];
    }
  }

  Dims dims_;
  std::int64_t depth_;
  Matrix a_, b_, y_;
  std::int64_t bias_stride_;
};

}  // namespace

Prepared prepare_matmul_f64(const MatMulViews& views) {
  const bool biased = views.bias.has_value();
  return {"f64 loops", 0, [biased, product = MatMul64(views)](const Call& call) {
            product.run(static_cast<const double*>(call.inputs[0]),
                        static_cast<const double*>(call.inputs[1]),
                        biased ? static_cast<const double*>(call.inputs[2]) : nullptr,
                        static_cast<double*>(call.outputs[0]));
          }};
}

}  // namespace narrowgauge::cpu
