// SPDX-License-Identifier: Apache-2.0
#include "groups/operands.h"

#include "ops/offers/batch_inner.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

std::string image_reason(const Operand& operand, const Dims& dims) {
  if (!operand.present) return {};
  if (!is_f32_or_narrow(operand.dtype) || !lies_batch_inner(operand))
    return concat("an image of ", operand.dtype, " in ", operand.storage);
  return operand.dims == dims ? "" : "images are broadcast";
}

std::string vector_reason(const Operand& operand) {
  if (!operand.present || (operand.dtype == DType::f32 && operand.strides == Dims{1})) return {};
  return concat("a vector of ", operand.dtype, " with strides ", operand.strides);
}

}  // namespace narrowgauge
