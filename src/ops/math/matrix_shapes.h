// SPDX-License-Identifier: Apache-2.0
// Operands of numpy.matmul as matrices: vectors, batches that broadcast, and the place of each
// matrix.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/cpu/contraction/contraction.h"
#include "narrowgauge/kernel.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// A vector as a matrix: a row on the left, a column on the right.
Shape as_matrix(Shape shape, bool left);
// The shape of a product of rank 2 or more. Throws UsageError naming the op if they do not fit.
Shape product_shape(std::string_view op, const Shape& a, const Shape& b);
// The shape of a product of a and b, which may be vectors. Throws UsageError likewise.
Shape matmul_shape(std::string_view op, const TensorType& a, const TensorType& b);

// Counts a multiplication and an addition for each element of y and of the summed axis.
double product_flops(const TensorType& y, const Dim& summed);

// The operands for a kernel, with vectors as matrices.
cpu::MatMulViews matrix_views(const Operand& a, const Operand& b, const Operand& y);
// The row-major position of an operand's matrix that belongs to matrix `batch` of y.
std::int64_t matrix_index(std::int64_t batch, const Dims& y, const Dims& operand);

}  // namespace narrowgauge
