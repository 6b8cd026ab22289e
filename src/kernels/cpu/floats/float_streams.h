// SPDX-License-Identifier: Apache-2.0
// Which results of f32 are stored past the caches: those that these could not hold until they are
// read. It saves reading the lines that are overwritten.
#pragma once

#include <cstdint>

#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

// Whether a result is stored past the caches: its channels lie together, in whole lines of cache
// for each pixel.
inline bool is_streamed(const View& y) {
  constexpr std::int64_t least_bytes = 32 << 20;  // as large as the values of a part of a batch
  return y.dims[1] % 16 == 0 && 4 * element_count(y.dims) >= least_bytes;
}

inline bool is_at_line(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 64 == 0;
}

}  // namespace narrowgauge::cpu
