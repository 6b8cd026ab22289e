// SPDX-License-Identifier: Apache-2.0
// Few rows times a matrix, as networks multiply that predict for one input. The matrix is read
// once, as it is; oneDNN's f32 kernels want a wide copy of a narrow one first.
#pragma once

#include <string>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

// Why prepare_row_product() does not take these; "" if it does: up to four rows of f32, f16 or
// bf16, and one matrix whose rows or columns are dense.
std::string row_product_reason(const MatMulViews& views);

// Exact products, added in f32, rounded once; the same bits for any number of threads. Throws
// UsageError with the reason if there is one.
Prepared prepare_row_product(const MatMulViews& views);

}  // namespace narrowgauge::cpu
