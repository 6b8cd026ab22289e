// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_convolution.h"

#include "kernels/cpu/amx/row_formats.amx.h"
#include "kernels/cpu/lanes/gelu_avx512.h"
#include "kernels/cpu/tiles/pixel_loop.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

struct MultiplyBf16 {
  using Sum = float;
  template <bool two, Reading reading>
  [[gnu::always_inline]] static void step(const TilesOfA& a, const std::byte* b, std::int64_t) {
    load_first<reading>(a.first, a.step);
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + 1024, 64);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (two) {
      load_second<reading>(a.second, a.step);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
};

// The products of two lower parts, at most 2^-18 of a product, are left out.
struct MultiplySplit {
  using Sum = float;
  template <bool two, Reading reading>
  [[gnu::always_inline]] static void step(const TilesOfA& a, const std::byte* b,
                                          std::int64_t lower_at) {
    load<two, reading>(a, 0);
    by_panel<two>(b);
    by_panel<two>(b + tile_panel_bytes);
    load<two, reading>(a, lower_at);
    by_panel<two>(b);
  }

 private:
  template <bool two, Reading reading>
  [[gnu::always_inline]] static void load(const TilesOfA& a, std::int64_t at) {
    load_first<reading>(a.first + at, a.step);
    if constexpr (two) load_second<reading>(a.second + at, a.step);
  }
  template <bool two>
  [[gnu::always_inline]] static void by_panel(const std::byte* b) {
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (two) _tile_dpbf16ps(2, 5, 6);
    _tile_loadd(7, b + 1024, 64);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (two) _tile_dpbf16ps(3, 5, 7);
  }
};

// The lanes of 32 channels that there are.
struct Lanes {
  __mmask16 low, high;
};
[[gnu::always_inline]] inline __mmask16 lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count > 0 ? (1 << count) - 1 : 0);
}

// Reads and writes 32 values.
template <DType dtype>
struct Values;
template <>
struct Values<DType::f32> {
  static constexpr std::int64_t size = 4;
  [[gnu::always_inline]] static __m512 load(const std::byte* from, __mmask16 mask) {
    return _mm512_maskz_loadu_ps(mask, from);
  }
  [[gnu::always_inline]] static void store(std::byte* to, __m512 low, __m512 high,
                                           const Lanes& mask) {
    _mm512_mask_storeu_ps(to, mask.low, low);
    _mm512_mask_storeu_ps(to + 64, mask.high, high);
  }
};
template <>
struct Values<DType::bf16> {
  static constexpr std::int64_t size = 2;
  [[gnu::always_inline]] static __m512 load(const std::byte* from, __mmask16 mask) {
    const __m256i bits = _mm256_maskz_loadu_epi16(mask, from);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  [[gnu::always_inline]] static void store(std::byte* to, __m512 low, __m512 high,
                                           const Lanes& mask) {
    _mm512_mask_storeu_epi16(to, _mm512_kunpackw(mask.high, mask.low), to_bf16(low, high));
  }
};

// What sums go through before they are stored.
enum class Behind { bounds, residual, gelu };

// Finishes rows of a block's sums, and prefetches what the next block will need.
template <DType dtype, Behind behind>
class SumsToStore {
 public:
  using Context = PixelConvolutionTask;
  SumsToStore(const PixelConvolutionTask& task, const float* sums, const PixelBlock& block,
              const PixelBlock& next)
      : sums_(sums),
        rows_(block, next),
        y_(task.y + block.column * Format::size),
        next_y_(task.y + next.column * Format::size),
        residual_(task.residual + block.column * Format::size),
        next_residual_(task.residual + next.column * Format::size),
        pitch_(task.channels * Format::size),
        mask_{lanes(task.channels - block.column), lanes(task.channels - block.column - 16)},
        bias_{_mm512_loadu_ps(task.bias + block.column),
              _mm512_loadu_ps(task.bias + block.column + 16)},
        least_(_mm512_set1_ps(task.low)),
        most_(_mm512_set1_ps(task.high)) {}

  static void begin(const PixelConvolutionTask&, std::int64_t) { zero_sums(); }

  [[gnu::always_inline]] void finish(std::int64_t begin, std::int64_t end) const {
    if constexpr (behind == Behind::gelu)
      for (; begin + 2 <= end; begin += 2) two_through_gelu(begin);
    rows_.each(
        begin, end,
        [&](std::int64_t row, std::int64_t pixel, std::int64_t next)
            __attribute__((always_inline)) {
              one_row(row, pixel, next);
              one_row(row + 1, pixel + 1, next + 1);
            },
        [&](std::int64_t row, std::int64_t pixel, std::int64_t next)
            __attribute__((always_inline)) { one_row(row, pixel, next); });
  }

 private:
  using Format = Values<dtype>;

  [[gnu::always_inline]] void one_row(std::int64_t row, std::int64_t pixel,
                                      std::int64_t next) const {
    const float* const sums = sums_ + row * tile_panel;
    __m512 low = _mm512_add_ps(bias_[0], _mm512_loadu_ps(sums));
    __m512 high = _mm512_add_ps(bias_[1], _mm512_loadu_ps(sums + 16));
    __builtin_prefetch(next_y_ + next * pitch_, 1, 2);
    if constexpr (behind == Behind::residual) {
      __builtin_prefetch(next_residual_ + next * pitch_);
      const std::byte* const r = residual_ + pixel * pitch_;
      low = _mm512_add_ps(low, Format::load(r, mask_.low));
      high = _mm512_add_ps(high, Format::load(r + 16 * Format::size, mask_.high));
    }
    if constexpr (behind == Behind::gelu) {
      __m512 both[2] = {low, high};
      avx512::gelu(both);
      low = both[0];
      high = both[1];
    } else {
      low = _mm512_min_ps(most_, _mm512_max_ps(least_, low));  // NaN stays
      high = _mm512_min_ps(most_, _mm512_max_ps(least_, high));
    }
    Format::store(y_ + pixel * pitch_, low, high, mask_);
  }

  // Four vectors at once, as each waits for its own results.
  [[gnu::always_inline]] void two_through_gelu(std::int64_t row) const {
    __m512 values[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      values[v] = _mm512_add_ps(bias_[v % 2], _mm512_loadu_ps(sums_ + row * tile_panel + 16 * v));
    avx512::gelu(values);
    for (std::int64_t r = row; r < row + 2; ++r)
      __builtin_prefetch(next_y_ + rows_.next_pixel(r) * pitch_, 1, 2);
#pragma GCC unroll 2
    for (int r = 0; r < 2; ++r)
      if (const std::int64_t pixel = rows_.pixel(row + r); pixel >= 0)
        Format::store(y_ + pixel * pitch_, values[2 * r], values[2 * r + 1], mask_);
  }

  const float* sums_;
  const BlockRows rows_;
  std::byte *y_, *next_y_;
  const std::byte *residual_, *next_residual_;
  std::int64_t pitch_;  // bytes from pixel to pixel
  Lanes mask_;
  __m512 bias_[2], least_, most_;
};

template <DType dtype, Behind behind>
void convolve(const PixelConvolutionTask& task) {
  using Work = SumsToStore<dtype, behind>;
  if constexpr (dtype == DType::f32)
    if (task.split) return PixelLoop<MultiplySplit, Work>(task.product, task).run();
  PixelLoop<MultiplyBf16, Work>(task.product, task).run();
}

}  // namespace

void convolve_pixels(const PixelConvolutionTask& task) {
  const TileScope tiles;
  before_tile_loads();
  const bool wide = task.dtype == DType::f32;
  if (task.gelu)
    convolve<DType::bf16, Behind::gelu>(task);
  else if (task.residual)
    (wide ? convolve<DType::f32, Behind::residual> : convolve<DType::bf16, Behind::residual>)(task);
  else
    (wide ? convolve<DType::f32, Behind::bounds> : convolve<DType::bf16, Behind::bounds>)(task);
}

}  // namespace narrowgauge::cpu::amx
