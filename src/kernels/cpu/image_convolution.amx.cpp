// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/image_convolution.h"

#include "kernels/cpu/tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

// Both tiles of A with rows `pitch` bytes apart.
inline void multiply_strided(const std::byte* a, std::int64_t pitch, const std::byte* b) {
  _tile_loadd(4, a, pitch);
  _tile_loadd(6, b, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, b + 1024, 64);
  _tile_dpbf16ps(1, 4, 7);
  _tile_loadd(5, a + 16 * pitch, pitch);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

void store_block(const float* sums, const float* bias, std::byte* y) {
  const __m512 low = _mm512_loadu_ps(bias), high = _mm512_loadu_ps(bias + 16);
  for (std::int64_t r = 0; r < block_rows; ++r) {
    const float* from = sums + r * block_rows;
    _mm512_stream_si512(reinterpret_cast<__m512i*>(y + r * 64),
                        to_bf16(_mm512_add_ps(_mm512_load_ps(from), low),
                                _mm512_add_ps(_mm512_load_ps(from + 16), high)));
  }
}

struct Nothing {
  void step(int) {}
};

}  // namespace

void transpose_images(const std::byte* row, std::int64_t columns, std::byte* transposed) {
  for (std::int64_t c = 0; c < columns; c += 32)
    pack_a_transposed(row + c * 2, columns * 2, transposed + c * 64);
}

void gather_images(const ImagePlan& plan, const ImageGather& row) {
  const TileScope tiles;
  alignas(64) float sums[sums_in_block];
  before_tile_loads();
  std::byte* y = row.y;
  for (std::int64_t x = 0; x < plan.width; ++x) {
    const std::byte* from = row.x + x * plan.step_bytes;
    const std::byte* weights = row.weights;
    for (std::int64_t block = 0; block < plan.blocks; ++block, y += block_bytes) {
      zero_sums();
      for (std::int64_t k = 0; k < plan.kernel_height; ++k)
        for (std::int64_t i = 0; i < plan.steps; ++i, weights += block_bytes)
          multiply_strided(from + plan.kernel_rows[k] + i * 64, row.pitch, weights);
      store_sums(sums);
      store_block(sums, row.bias + block * block_rows, y);
    }
  }
  _mm_sfence();
}

void image_weight_gradient(const ImagePlan& plan, const ImageGradient& row) {
  for (std::int64_t x = 0; x < plan.width; ++x)
    for (std::int64_t block = 0; block < plan.blocks; ++block)
      pack_b(row.dy + (x * plan.blocks + block) * block_bytes, 64,
             row.packed + (block * plan.width + x) * block_bytes);
  const TileScope tiles;
  alignas(64) float sums[sums_in_block];
  before_tile_loads();
  float* to = row.sums;
  Nothing nothing;
  for (std::int64_t block = 0; block < plan.blocks; ++block)
    for (std::int64_t k = 0; k < plan.kernel_height; ++k)
      for (std::int64_t i = 0; i < plan.steps; ++i, to += sums_in_block) {
        zero_sums();
        multiply_run<Reading::reused>(
            row.x + plan.kernel_rows[k] + i * block_bytes, plan.step_bytes,
            row.packed + block * plan.width * block_bytes, block_bytes, plan.width, nothing, 0);
        store_sums(sums);
        for (std::int64_t e = 0; e < sums_in_block; e += 16)
          _mm512_storeu_ps(to + e,
                           _mm512_add_ps(_mm512_loadu_ps(to + e), _mm512_load_ps(sums + e)));
      }
}

}  // namespace narrowgauge::cpu::amx
