// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/image_convolution.h"

#include "kernels/cpu/batch_inner/split_tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

// Multiplies both tiles of A, whose rows are `pitch` bytes apart.
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

template <DType dtype>
constexpr std::int64_t row_size = dtype == DType::f32 ? 128 : 64;  // bytes of 32 values of y

// `least` is 0 for a Relu, else -inf. A NaN stays NaN, being the second operand of the maximum.
template <DType dtype>
void store_block(const float* sums, const float* bias, __m512 least, std::byte* y,
                 std::int64_t& flushed) {
  const __m512 low_bias = _mm512_loadu_ps(bias), high_bias = _mm512_loadu_ps(bias + 16);
  for (std::int64_t r = 0; r < block_rows; ++r) {
    const float* from = sums + r * block_rows;
    const __m512 low = _mm512_max_ps(least, _mm512_add_ps(_mm512_load_ps(from), low_bias));
    const __m512 high = _mm512_max_ps(least, _mm512_add_ps(_mm512_load_ps(from + 16), high_bias));
    auto* const to = reinterpret_cast<__m512i*>(y + r * row_size<dtype>);
    if constexpr (dtype == DType::f32) {
      _mm512_stream_si512(to, _mm512_castps_si512(low));
      _mm512_stream_si512(to + 1, _mm512_castps_si512(high));
    } else {
      _mm512_stream_si512(to,
                          dtype == DType::f16 ? to_f16(low, high, flushed) : to_bf16(low, high));
    }
  }
}

template <DType dtype>
std::int64_t convolve_row(const ImagePlan& plan, const ImageRow& row) {
  const TileScope tiles;
  alignas(64) float sums[sums_in_block];
  before_tile_loads();
  std::byte* y = row.y;
  std::int64_t flushed = 0;
  const __m512 least = _mm512_set1_ps(row.relu ? 0.0F : -__builtin_inff());
  for (std::int64_t x = 0; x < plan.width; ++x) {
    const std::byte* from = row.x + x * plan.step_bytes;
    const std::byte* weights = row.weights;
    for (std::int64_t block = 0; block < plan.blocks; ++block) {
      zero_sums();
      for (std::int64_t k = 0; k < plan.kernel_height; ++k)
        for (std::int64_t i = 0; i < plan.steps; ++i) {
          const std::byte* a = from + plan.kernel_rows[k] + i * 64;
          if constexpr (dtype == DType::bf16)
            multiply_strided(a, row.pitch, weights);
          else
            multiply_split<Reading::reused>({a, a + row.low}, row.pitch, weights);
          weights += dtype == DType::bf16 ? block_bytes : split_block_bytes;
        }
      store_sums(sums);
      store_block<dtype>(sums, row.bias + block * block_rows, least, y, flushed);
      y += block_rows * row_size<dtype>;
    }
  }
  _mm_sfence();
  return flushed;
}

void pack_dy(const ImagePlan& plan, const ImageGradient& row) {
  const PackedRows packed{row.packed, 1};
  const RowPacking packing{plan.width, plan.width, plan.blocks, 1, false};
  if (row.dtype == DType::bf16)
    pack_row(row.dy, packing, 0, packed);
  else
    pack_split_row(row.dtype, row.dy, packing, 0, packed);
}

struct Nothing {
  void step(int) {}
};

}  // namespace

void transpose_images(const std::byte* row, std::int64_t columns, std::byte* transposed) {
  for (std::int64_t c = 0; c < columns; c += 32)
    pack_a_transposed(row + c * 2, columns * 2, transposed + c * 64);
}

std::int64_t convolve_images(const ImagePlan& plan, const ImageRow& row) {
  if (row.dtype == DType::f32) return convolve_row<DType::f32>(plan, row);
  if (row.dtype == DType::f16) return convolve_row<DType::f16>(plan, row);
  return convolve_row<DType::bf16>(plan, row);
}

void image_weight_gradient(const ImagePlan& plan, const ImageGradient& row) {
  pack_dy(plan, row);
  const bool split = row.dtype != DType::bf16;
  const std::int64_t b_step = split ? split_block_bytes : block_bytes;
  const TileScope tiles;
  alignas(64) float sums[sums_in_block];
  before_tile_loads();
  float* to = row.sums;
  Nothing nothing;
  for (std::int64_t block = 0; block < plan.blocks; ++block)
    for (std::int64_t k = 0; k < plan.kernel_height; ++k)
      for (std::int64_t i = 0; i < plan.steps; ++i, to += sums_in_block) {
        zero_sums();
        const std::byte* a = row.x + plan.kernel_rows[k] + i * block_bytes;
        const std::byte* b = row.packed + block * plan.width * b_step;
        if (split)
          for (std::int64_t x = 0; x < plan.width; ++x, a += plan.step_bytes, b += b_step)
            multiply_split<Reading::reused>({a, a + row.low}, 64, b);
        else
          multiply_run<Reading::reused>(a, plan.step_bytes, b, b_step, plan.width, nothing, 0);
        store_sums(sums);
        for (std::int64_t e = 0; e < sums_in_block; e += 16)
          _mm512_storeu_ps(to + e,
                           _mm512_add_ps(_mm512_loadu_ps(to + e), _mm512_load_ps(sums + e)));
      }
}

}  // namespace narrowgauge::cpu::amx
