// SPDX-License-Identifier: Apache-2.0
// The memory layout of the products of pair_tile.h.
#pragma once

#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {

// Bytes between rows of pairs. A multiple of 1 KB would make rows share few sets of the cache.
constexpr std::int64_t pair_row_bytes(std::int64_t depth) {
  const std::int64_t bytes = round_up(depth, 32) * 2;
  return bytes % 1024 == 0 ? bytes + 64 : bytes;
}

// Loads `view` [n] as f32, followed by zeros up to `room`.
void pair_load_bias(const View& view, const void* data, std::int64_t room, float* bias);

}  // namespace narrowgauge::cpu
