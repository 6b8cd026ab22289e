// SPDX-License-Identifier: Apache-2.0
// Operands of numpy.matmul as matrices: vectors, batches that broadcast, and where each matrix
// lies.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/cpu/contraction.h"
#include "narrowgauge/kernel.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// A vector as a matrix: a row on the left, a column on the right.
Shape as_matrix(Shape shape, bool left);
// Of operands with rank 2 or more. Throws UsageError naming the op where they do not fit.
Shape product_shape(std::string_view op, const Shape& a, const Shape& b);
// Of a and b as they are, vectors or not. Throws UsageError as above.
Shape matmul_shape(std::string_view op, const TensorType& a, const TensorType& b);

// A multiplication and an addition for each element of y and of the axis that is summed.
double product_flops(const TensorType& y, const Dim& summed);

// The operands for a kernel, vectors as matrices.
cpu::MatMulViews matrix_views(const Operand& a, const Operand& b, const Operand& y);
// Row-major place of the matrix of an operand that belongs to matrix `batch` of y.
std::int64_t matrix_index(std::int64_t batch, const Dims& y, const Dims& operand);

}  // namespace narrowgauge
