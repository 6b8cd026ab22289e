// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/pairs.h"

#include "ops/offers/contraction.h"

namespace narrowgauge {

namespace {

// On AMX, three products of bf16 are faster for f32, and more accurate.
bool dfp16_keeps(Math math, DType dtype, const Target& target) {
  if (dtype == DType::bf16) return math == Math::bf16;
  if (math == Math::dfp16) return true;
  if (math == Math::f16) return dtype == DType::f16;
  return math == Math::f32 && dtype == DType::f32 && target.isa < Isa::amx && target.fast_math;
}

std::string math_reason(cpu::PairFormat format, Math math, DType dtype, const Target& target) {
  if (dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32)
    return concat(name(format), " of ", dtype);
  if (format == cpu::PairFormat::bf16)
    return dtype == DType::bf16 ? tile_math_reason(math, dtype, target)
                                : concat(name(format), " of ", dtype);
  return dfp16_keeps(math, dtype, target) ? "" : concat("math ", math, " of ", dtype);
}

}  // namespace

std::string pair_reason(cpu::PairFormat format, const Request& request) {
  for (const Operand* operand : {&request.inputs[0], &request.inputs[1]}) {
    std::string reason = math_reason(format, request.math, operand->dtype, request.target);
    if (!reason.empty()) return reason;
  }
  return storage_reason(request);
}

Offer offer_pair_matmul(cpu::PairFormat format, const Request& request,
                        const cpu::MatMulViews& views, std::vector<int> inputs) {
  std::string reason = pair_reason(format, request);
  if (reason.empty()) reason = pair_matmul_reason(format, views, request.target.isa);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared([=, options = contraction_options(
                                request)] { return prepare_pair_matmul(format, views, options); },
                        std::move(inputs));
}

}  // namespace narrowgauge
