// SPDX-License-Identifier: Apache-2.0
#include "ops/dfp16.h"

#include "base/cpu.h"
#include "ops/contraction.h"

namespace narrowgauge {

namespace {

// On AMX, three products of bf16 are faster for f32, and more accurate.
bool keeps(Math math, DType dtype) {
  if (math == Math::dfp16) return true;
  if (math == Math::f16) return dtype == DType::f16;
  return math == Math::f32 && dtype == DType::f32 && isa() < Isa::amx && fast_math();
}

}  // namespace

std::string dfp16_reason(const Request& request) {
  for (const Operand* operand : {&request.inputs[0], &request.inputs[1]}) {
    if (operand->dtype != DType::f16 && operand->dtype != DType::f32)
      return concat("dfp16 of ", operand->dtype);
    if (!keeps(request.math, operand->dtype))
      return concat("math ", request.math, " of ", operand->dtype);
  }
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (operand.present && !(operand.storage.blocks.empty() && operand.storage.encoding.empty()))
        return concat("storage ", operand.storage);
  if (!request.outputs[0].present) return "nobody reads the result";
  return {};
}

}  // namespace narrowgauge
