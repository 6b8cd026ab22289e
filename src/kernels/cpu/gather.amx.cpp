// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/gatherer.amx.h"

namespace narrowgauge::cpu::amx {

void gather(const GatherPlan& plan, const GatherPiece& piece) {
  gather_rows<Bf16Rows>(plan, piece);
}

void pass_on(const GatherPlan& plan, const GatherPiece& piece) {
  with_rows(piece.dtype, [&]<class Format>() {
    with_row<Format>(piece, [&]<class Row>() { pass_blocks<Row>(plan, piece); });
  });
}

}  // namespace narrowgauge::cpu::amx
