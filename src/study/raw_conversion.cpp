// SPDX-License-Identifier: Apache-2.0
#include "study/raw_conversion.h"

#include "kernels/cpu/convert/convert.h"
#include "tensor/values.h"

namespace narrowgauge {
namespace {

void round_tf32(void* values, std::int64_t count) {
  auto* const floats = static_cast<float*>(values);
  for (std::int64_t i = 0; i < count; ++i) floats[i] = round_to_tf32(floats[i]);
}

}  // namespace

void convert_raw(RawFormat from, const void* in, RawFormat to, void* out, std::int64_t count) {
  if (from.dtype == DType::f32)
    cpu::narrow_row(static_cast<const float*>(in), to.dtype, out, count);
  else if (to.dtype == DType::f32)
    cpu::widen_row(from.dtype, in, static_cast<float*>(out), count);
  else
    convert_elements(from.dtype, in, to.dtype, out, count);
  if (to.tf32) round_tf32(out, count);
}

}  // namespace narrowgauge
