// SPDX-License-Identifier: Apache-2.0
// The operands of a matrix product, checked and with as few batch axes as possible.
#pragma once

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

// Throws UsageError unless a and b give y, and the bias fits.
void check_matmul_shapes(const MatMulViews& views);

// a, b and y with the same number of batch axes; broadcast axes have size 1.
struct MatMulOperands {
  View a, b, y;
  std::size_t batch_rank() const { return y.dims.size() - 2; }
};
MatMulOperands matmul_operands(const MatMulViews& views);

}  // namespace narrowgauge::cpu
