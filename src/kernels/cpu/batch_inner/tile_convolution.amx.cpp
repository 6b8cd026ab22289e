// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/tile_loop.amx.h"

namespace narrowgauge::cpu::amx {

void convolve(const TilePlan& plan, const TilePiece& piece) {
  with_rows(plan.result.dtype, [&]<class Format>() { convolve_rows<Format>(plan, piece); });
}

void pass_on(const TilePlan& plan, const TilePiece& piece) {
  with_rows(plan.result.dtype, [&]<class Format>() {
    with_row<Format>(piece, [&]<class Row>() { pass_blocks<Row>(plan, piece); });
  });
}

}  // namespace narrowgauge::cpu::amx
