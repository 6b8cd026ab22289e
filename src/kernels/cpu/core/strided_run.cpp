// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/core/strided_run.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/cpu/convert/convert.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t most = 256;  // elements moved at once

template <class T>
void gather(const void* in, std::int64_t stride, void* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<T*>(out)[i] = static_cast<const T*>(in)[i * stride];
}

template <class T>
void scatter(const void* in, void* out, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<T*>(out)[i * stride] = static_cast<const T*>(in)[i];
}

void gather_bytes(int bytes, const void* in, std::int64_t stride, void* out, std::int64_t count) {
  switch (bytes) {
    case 1:
      return gather<std::uint8_t>(in, stride, out, count);
    case 2:
      return gather<std::uint16_t>(in, stride, out, count);
    case 4:
      return gather<std::uint32_t>(in, stride, out, count);
    default:
      return gather<std::uint64_t>(in, stride, out, count);
  }
}

void scatter_bytes(int bytes, const void* in, void* out, std::int64_t stride, std::int64_t count) {
  switch (bytes) {
    case 1:
      return scatter<std::uint8_t>(in, out, stride, count);
    case 2:
      return scatter<std::uint16_t>(in, out, stride, count);
    case 4:
      return scatter<std::uint32_t>(in, out, stride, count);
    default:
      return scatter<std::uint64_t>(in, out, stride, count);
  }
}

}  // namespace

void widen_run(DType from, const void* in, std::int64_t stride, float* out, std::int64_t count) {
  if (stride == 1 || count == 1) return widen_row(from, in, out, count);
  const int bytes = bits(from) / 8;
  alignas(64) std::array<std::byte, most * 8> dense;
  for (std::int64_t i = 0; i < count; i += most) {
    const std::int64_t now = std::min(most, count - i);
    gather_bytes(bytes, static_cast<const std::byte*>(in) + i * stride * bytes, stride,
                 dense.data(), now);
    widen_row(from, dense.data(), out + i, now);
  }
}

void narrow_run(const float* in, DType to, void* out, std::int64_t stride, std::int64_t count,
                std::int64_t* flushed) {
  if (stride == 1 || count == 1) return narrow_row(in, to, out, count, flushed);
  const int bytes = bits(to) / 8;
  alignas(64) std::array<std::byte, most * 8> dense;
  for (std::int64_t i = 0; i < count; i += most) {
    const std::int64_t now = std::min(most, count - i);
    narrow_row(in + i, to, dense.data(), now, flushed);
    scatter_bytes(bytes, dense.data(), static_cast<std::byte*>(out) + i * stride * bytes, stride,
                  now);
  }
}

}  // namespace narrowgauge::cpu
