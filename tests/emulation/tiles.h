// SPDX-License-Identifier: Apache-2.0
// The tile registers of AMX as arrays of a thread. Whatever a CPU answers with a fault ends the
// program with the reason.
#pragma once

#include <cstdint>

#include "emulation/lanes.h"

namespace narrowgauge {

namespace emulation {

void configure_tiles(const void* configuration);
void release_tiles();
void clear_tile(const char* instruction, int tile);
void load_tile(const char* instruction, int tile, const void* from, std::int64_t stride);
void store_tile(int tile, void* to, std::int64_t stride);
void multiply_bf16(int sums, int a, int b);
void multiply_bytes(const char* instruction, int sums, int a, int b);

}  // namespace emulation

#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud

NG_INTRINSIC void _tile_loadconfig(const void* configuration) {
  emulation::configure_tiles(configuration);
}
NG_INTRINSIC void _tile_release() { emulation::release_tiles(); }
NG_INTRINSIC void _tile_zero(int tile) { emulation::clear_tile("tilezero", tile); }
NG_INTRINSIC void _tile_loadd(int tile, const void* from, std::int64_t stride) {
  emulation::load_tile("tileloadd", tile, from, stride);
}
NG_INTRINSIC void _tile_stream_loadd(int tile, const void* from, std::int64_t stride) {
  emulation::load_tile("tileloaddt1", tile, from, stride);
}
NG_INTRINSIC void _tile_stored(int tile, void* to, std::int64_t stride) {
  emulation::store_tile(tile, to, stride);
}
NG_INTRINSIC void _tile_dpbf16ps(int sums, int a, int b) { emulation::multiply_bf16(sums, a, b); }
#define NG_BYTES(name) \
  NG_INTRINSIC void _tile_##name(int c, int a, int b) { emulation::multiply_bytes(#name, c, a, b); }
NG_BYTES(dpbssd)
NG_BYTES(dpbsud)
NG_BYTES(dpbusd)
NG_BYTES(dpbuud)
#undef NG_BYTES

}  // namespace narrowgauge
