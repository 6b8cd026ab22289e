// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/core/strip.h"

#include <algorithm>
#include <atomic>

#include "kernels/cpu/convert/convert.h"

namespace narrowgauge::cpu {
namespace {

std::int64_t byte_offset(DType dtype, std::int64_t offset) { return offset * (bits(dtype) / 8); }

}  // namespace

const float* load_strip(ConstArray source, std::int64_t offset, std::int64_t count, float* buffer) {
  if (source.dtype == DType::f32) return static_cast<const float*>(source.data) + offset;
  widen_row(source.dtype,
            static_cast<const std::byte*>(source.data) + byte_offset(source.dtype, offset), buffer,
            count);
  return buffer;
}

float* result_strip(const Array& target, std::int64_t offset, float* buffer) {
  return target.dtype == DType::f32 ? static_cast<float*>(target.data) + offset : buffer;
}

void store_strip(const Array& target, std::int64_t offset, std::int64_t count, const float* strip) {
  if (target.dtype == DType::f32) {
    float* place = static_cast<float*>(target.data) + offset;
    if (place != strip) std::copy_n(strip, count, place);
    return;
  }
  std::int64_t flushed = 0;
  narrow_row(strip, target.dtype,
             static_cast<std::byte*>(target.data) + byte_offset(target.dtype, offset), count,
             target.flushed ? &flushed : nullptr);
  if (flushed != 0) std::atomic_ref(*target.flushed).fetch_add(flushed, std::memory_order_relaxed);
}

}  // namespace narrowgauge::cpu
