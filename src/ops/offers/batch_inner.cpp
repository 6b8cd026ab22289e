// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/batch_inner.h"

#include <algorithm>

#include "base/unloading.h"

namespace narrowgauge {

bool lies_batch_inner(const Operand& operand) {
  static const auto& batch_inner = immortal<Storage>(Storage::batch_inner());
  const Dims& dims = operand.dims;
  return dims.size() == 4 && dims[0] > 0 && dims[0] % 32 == 0 && dims[1] > 0 && dims[1] % 32 == 0 &&
         operand.storage == batch_inner;
}

bool is_batch_inner(const Request& request) {
  const auto fits = [](const Operand& operand) {
    return !operand.present || lies_batch_inner(operand);
  };
  return std::all_of(request.inputs.begin(), request.inputs.end(), fits) &&
         std::all_of(request.outputs.begin(), request.outputs.end(), fits);
}

cpu::View spatial_view(const Request& request, const Operand& operand) {
  if (!is_batch_inner(request)) return {operand.dtype, operand.dims, operand.strides};
  Dims dims = operand.dims;
  dims[0] /= 32;
  dims[1] *= 32;
  return cpu::channels_last_view(operand.dtype, dims);
}

}  // namespace narrowgauge
