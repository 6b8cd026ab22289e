// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/pairs.h"

#include "ops/offers/contraction.h"

namespace narrowgauge {

std::string pair_reason(cpu::PairFormat format, const Request& request) {
  const Way way = format == cpu::PairFormat::bf16 ? Way::pairs : Way::dfp16;
  for (const Operand* operand : {&request.inputs[0], &request.inputs[1]}) {
    std::string reason = way_reason(way, request.math, operand->dtype, request.target);
    if (!reason.empty()) return reason;
  }
  return storage_reason(request);
}

}  // namespace narrowgauge
