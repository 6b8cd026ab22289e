// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_convolution.h"

#include "kernels/cpu/tiles/pixel_loop.amx.h"
#include "kernels/cpu/tiles/row_formats.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

struct MultiplyBf16 {
  using Sum = float;
  template <bool two>
  [[gnu::always_inline]] static void step(const TilesOfA& a, const std::byte* b, std::int64_t) {
    _tile_loadd(4, a.first, a.step);
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + 1024, 64);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (two) {
      _tile_loadd(5, a.second, a.step);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
};

// The products of two lower parts, at most 2^-18 of a product, are left out.
struct MultiplySplit {
  using Sum = float;
  template <bool two>
  [[gnu::always_inline]] static void step(const TilesOfA& a, const std::byte* b,
                                          std::int64_t lower_at) {
    load_a<two>(a, 0);
    by_panel<two>(b);
    by_panel<two>(b + tile_panel_bytes);
    load_a<two>(a, lower_at);
    by_panel<two>(b);
  }

 private:
  template <bool two>
  [[gnu::always_inline]] static void load_a(const TilesOfA& a, std::int64_t at) {
    _tile_loadd(4, a.first + at, a.step);
    if constexpr (two) _tile_loadd(5, a.second + at, a.step);
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

// Finishes rows of a block's sums, and fetches what the next block will need.
template <DType dtype, bool residual>
class SumsToStore {
 public:
  using Context = PixelConvolutionTask;
  SumsToStore(const PixelConvolutionTask& task, const float* sums, const PixelBlock& block,
              const PixelBlock& next)
      : task_(task), sums_(sums), block_(block), next_(next) {}

  [[gnu::always_inline]] void finish(std::int64_t tile, std::int64_t begin,
                                     std::int64_t end) const {
    const std::int64_t column = block_.column, channels = task_.channels;
    const Lanes mask{lanes(channels - column), lanes(channels - column - 16)};
    const __m512 bias[2] = {_mm512_loadu_ps(task_.bias + column),
                            _mm512_loadu_ps(task_.bias + column + 16)};
    const __m512 least = _mm512_set1_ps(task_.low), most = _mm512_set1_ps(task_.high);
    const float* const sums = sums_ + tile * tile_pixels * tile_panel;
    const PixelTile &now = block_.tiles[tile],
                    &then = next_.tiles[tile < next_.tile_count ? tile : 0];
    for_each_row(
        now, then, begin, end,
        [&](std::int64_t row, std::int64_t pixel,
            std::int64_t next) __attribute__((always_inline)) {
          const float* const from = sums + row * tile_panel;
          const std::int64_t at = (pixel * channels + column) * Format::size;
          __m512 values[2] = {_mm512_add_ps(bias[0], _mm512_loadu_ps(from)),
                              _mm512_add_ps(bias[1], _mm512_loadu_ps(from + 16))};
          if constexpr (residual) {
            __builtin_prefetch(task_.residual + (next * channels + next_.column) * Format::size);
            const std::byte* const r = task_.residual + at;
            values[0] = _mm512_add_ps(values[0], Format::load(r, mask.low));
            values[1] = _mm512_add_ps(values[1], Format::load(r + 16 * Format::size, mask.high));
          }
          values[0] = _mm512_min_ps(most, _mm512_max_ps(least, values[0]));  // NaN stays
          values[1] = _mm512_min_ps(most, _mm512_max_ps(least, values[1]));
          Format::store(task_.y + at, values[0], values[1], mask);
        });
  }

 private:
  using Format = Values<dtype>;

  const PixelConvolutionTask& task_;
  const float* sums_;
  const PixelBlock &block_, &next_;
};

template <DType dtype, bool residual>
void convolve(const PixelConvolutionTask& task) {
  using Work = SumsToStore<dtype, residual>;
  if constexpr (dtype == DType::f32)
    if (task.split) return PixelLoop<MultiplySplit, Work>(task.product, task).run();
  PixelLoop<MultiplyBf16, Work>(task.product, task).run();
}

}  // namespace

void convolve_pixels(const PixelConvolutionTask& task) {
  const TileScope tiles;
  before_tile_loads();
  const bool wide = task.dtype == DType::f32;
  if (task.residual)
    (wide ? convolve<DType::f32, true> : convolve<DType::bf16, true>)(task);
  else
    (wide ? convolve<DType::f32, false> : convolve<DType::bf16, false>)(task);
}

}  // namespace narrowgauge::cpu::amx
