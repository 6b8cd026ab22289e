// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/tile_loop.amx.h"

namespace narrowgauge::cpu::amx {

void convolve_split(const TilePlan& plan, const TilePiece& piece) {
  if (piece.dtype == DType::f16) return convolve_rows<F16Rows>(plan, piece);
  convolve_rows<F32Rows>(plan, piece);
}

}  // namespace narrowgauge::cpu::amx
