// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/gatherer.amx.h"

namespace narrowgauge::cpu::amx {

void gather_split(const GatherPlan& plan, const GatherPiece& piece) {
  if (piece.dtype == DType::f16) return gather_rows<F16Rows>(plan, piece);
  gather_rows<F32Rows>(plan, piece);
}

}  // namespace narrowgauge::cpu::amx
