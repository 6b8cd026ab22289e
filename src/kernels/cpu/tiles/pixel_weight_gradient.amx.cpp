// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_weight_gradient.h"

#include "kernels/cpu/amx/tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

class ChannelLoads {
 public:
  explicit ChannelLoads(const PixelChannels& from)
      : pixels_(from.pixels),
        offset_(from.channel * 2),
        mask_(from.channels >= 32 ? ~__mmask32{} : (__mmask32{1} << from.channels) - 1) {}
  [[gnu::always_inline]] __m512i operator[](std::int64_t pixel) const {
    return _mm512_maskz_loadu_epi16(mask_, pixels_[pixel] + offset_);
  }

 private:
  const std::byte* const* pixels_;
  std::int64_t offset_;
  __mmask32 mask_;
};

}  // namespace

void pack_pixel_rows(const PixelChannels& from, std::byte* block) {
  const ChannelLoads pixel(from);
  // Pairs neighbours within lanes of 8 channels: the first four of each lane, then the others.
  for (int half = 0; half < 2; ++half) {
    __m512i r[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      r[i] = half == 0 ? _mm512_unpacklo_epi16(pixel[2 * i], pixel[2 * i + 1])
                       : _mm512_unpackhi_epi16(pixel[2 * i], pixel[2 * i + 1]);
    transpose(r);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      _mm512_store_si512(block + 64 * (i / 4 * 8 + half * 4 + i % 4), r[i]);
  }
}

void pack_pixel_pairs(const PixelChannels& from, std::int64_t pairs, const PairedPixels& to) {
  const ChannelLoads pixel(from);
  const __m512i low = _mm512_load_si512(low_pairs), high = _mm512_load_si512(high_pairs);
  const auto store = [&](__m512i first, __m512i second, std::byte* at) {
    _mm512_store_si512(at, _mm512_permutex2var_epi16(first, low, second));
    _mm512_store_si512(at + to.half, _mm512_permutex2var_epi16(first, high, second));
  };
  __m512i first = pixel[0];
  for (std::int64_t i = 0; i < pairs; ++i) {
    const __m512i second = pixel[2 * i + 1];
    store(first, second, to.even + 64 * i);
    first = pixel[2 * i + 2];
    if (to.odd) store(second, first, to.odd + 64 * i);
  }
}

void multiply_pixels(const PixelProduct& product, const std::int64_t* offsets, std::int64_t taps) {
  const TileScope tiles;
  before_tile_loads();
  float* sums = product.sums;
  for (std::int64_t tap = 0; tap < taps; ++tap, sums += sums_in_block) {
    product.add ? load_sums(sums) : zero_sums();
    const std::byte* a = product.a;
    for (std::int64_t part = 0; part < product.parts; ++part) {
      const std::byte* b = product.b + offsets[tap] + part * product.part_bytes;
      for (std::int64_t step = 0; step < product.steps; ++step, a += 2048, b += 1024) {
        _tile_loadd(4, a, 64);
        _tile_stream_loadd(6, b, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_stream_loadd(7, b + product.half, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, a + 1024, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    }
    store_sums(sums);
  }
}

}  // namespace narrowgauge::cpu::amx
