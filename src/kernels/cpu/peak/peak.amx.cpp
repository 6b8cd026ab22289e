// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/peak/peak.h"

#include "kernels/cpu/amx/tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

// As in the kernels, two tiles of each operand make four products.
constexpr std::int64_t step_bytes = 2048, steps = peak_bytes / step_bytes;
constexpr std::int64_t products = 4, sums_in_tile = 256;

[[gnu::always_inline]] inline void load(const std::byte* a, const std::byte* b) {
  _tile_loadd(4, a, 64);
  _tile_loadd(6, b, 64);
  _tile_loadd(7, b + 1024, 64);
  _tile_loadd(5, a + 1024, 64);
}

}  // namespace

std::int64_t peak_bf16(const std::byte* a, const std::byte* b, std::int64_t rounds) {
  const TileScope tiles;
  for (std::int64_t round = 0; round < rounds; ++round) {
    zero_sums();
    for (std::int64_t step = 0; step < steps; ++step)
      multiply_block<Reading::reused>(a + step * step_bytes, b + step * step_bytes);
  }
  return rounds * steps * products * sums_in_tile * 32 * 2;
}

std::int64_t peak_int8(const std::byte* a, const std::byte* b, std::int64_t rounds) {
  const TileScope tiles;
  for (std::int64_t round = 0; round < rounds; ++round) {
    zero_sums();
    for (std::int64_t step = 0; step < steps; ++step) {
      load(a + step * step_bytes, b + step * step_bytes);
      _tile_dpbssd(0, 4, 6);
      _tile_dpbssd(1, 4, 7);
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
  }
  return rounds * steps * products * sums_in_tile * 64 * 2;
}

}  // namespace narrowgauge::cpu::amx
