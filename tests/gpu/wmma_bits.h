// SPDX-License-Identifier: Apache-2.0
// Products of many random tiles 16 x 16 by wmma, from one source that is compiled twice: by nvcc it
// runs on a GPU, else on the host.
#pragma once

#include <cstddef>
#include <cstdint>

namespace narrowgauge::test {

enum class TileFormat : std::uint8_t { f16, bf16, tf32 };
constexpr int tile_depth(TileFormat format) { return format == TileFormat::tf32 ? 8 : 16; }

// Bits of `count` products d = a b + c. a and b are row-major: 16 x depth and depth x 16 elements
// of 16 bits, or of 32 for tf32; c and d are 16 x 16 floats.
struct Tiles {
  const void* a;
  const void* b;
  const std::uint32_t* c;
  std::uint32_t* d;
  int count;
};
void multiply_on_host(TileFormat format, const Tiles& tiles);
void multiply_on_gpu(TileFormat format, const Tiles& tiles);

// The unit of the GPU as parse_matrix_unit() knows it, "" where there is none or an unknown one.
const char* gpu_unit();

}  // namespace narrowgauge::test
