// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/images/image_sums.h"

#include <immintrin.h>

#include <cstring>

#include "kernels/cpu/lanes/assembly_avx512.h"
#include "kernels/cpu/lanes/bf16_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr int most_pixels = 6;  // at a time
constexpr __mmask16 sixteen = 0xffff;

// Products of bytes, and of f32.
struct Bytes {
  using Sums = __m512i;
  static Sums load(const std::byte* from) { return _mm512_loadu_si512(from); }
  [[gnu::always_inline]] static void add(Sums& sums, const std::byte* x, Sums weights) {
    std::int32_t four;
    std::memcpy(&four, x, sizeof four);
    add_products_of_bytes(sums, _mm512_set1_epi32(four), weights);
  }
};
struct Floats {
  using Sums = __m512;
  static Sums load(const std::byte* from) {
    return _mm512_loadu_ps(reinterpret_cast<const float*>(from));
  }
  [[gnu::always_inline]] static void add(Sums& sums, const std::byte* x, Sums weights) {
    float one;
    std::memcpy(&one, x, sizeof one);
    sums = _mm512_fmadd_ps(_mm512_set1_ps(one), weights, sums);
  }
};

// Adds to sums[panel][pixel] what all rows give.
template <class Kind, int panels, int pixels>
[[gnu::always_inline]] inline void add_rows(const ImageSums& line, std::int64_t pixel,
                                            const std::byte* weights,
                                            typename Kind::Sums (&sums)[panels][pixels]) {
  const std::int64_t panel_bytes = line.row_count * line.steps * 64;
  const std::byte* row = line.rows + pixel * line.pixel_bytes;
  for (std::int64_t i = 0; i < line.row_count; ++i, row += line.row_bytes)
    for (std::int64_t step = 0; step < line.steps; ++step, weights += 64) {
      typename Kind::Sums w[panels];
#pragma GCC unroll 2
      for (int panel = 0; panel < panels; ++panel)
        w[panel] = Kind::load(weights + panel * panel_bytes);
#pragma GCC unroll 6
      for (int at = 0; at < pixels; ++at)
#pragma GCC unroll 2
        for (int panel = 0; panel < panels; ++panel)
          Kind::add(sums[panel][at], row + step * 4 + at * line.pixel_bytes, w[panel]);
    }
}

template <int panels, int pixels>
void byte_pixels(const ImageSums& line, std::int64_t panel, std::int64_t pixel,
                 std::int32_t* result) {
  __m512i sums[panels][pixels];
#pragma GCC unroll 2
  for (int i = 0; i < panels; ++i)
#pragma GCC unroll 6
    for (int at = 0; at < pixels; ++at) sums[i][at] = _mm512_setzero_si512();
  add_rows<Bytes>(line, pixel, line.weights + panel * line.row_count * line.steps * 64, sums);
#pragma GCC unroll 6
  for (int at = 0; at < pixels; ++at)
#pragma GCC unroll 2
    for (int i = 0; i < panels; ++i)
      _mm512_storeu_si512(result + ((pixel + at) * line.panels + panel + i) * image_panel,
                          sums[i][at]);
}

template <int panels>
void byte_panels(const ImageSums& line, std::int64_t panel, std::int32_t* result) {
  std::int64_t pixel = 0;
  for (; pixel + most_pixels <= line.pixels; pixel += most_pixels)
    byte_pixels<panels, most_pixels>(line, panel, pixel, result);
  for (; pixel < line.pixels; ++pixel) byte_pixels<panels, 1>(line, panel, pixel, result);
}

template <int panels, int pixels>
void float_pixels(const ImageSums& line, std::int64_t panel, std::int64_t pixel,
                  const NarrowImageResult& result) {
  __m512 sums[panels][pixels];
#pragma GCC unroll 2
  for (int i = 0; i < panels; ++i)
#pragma GCC unroll 6
    for (int at = 0; at < pixels; ++at)
      sums[i][at] = _mm512_loadu_ps(result.biases + (panel + i) * image_panel);
  add_rows<Floats>(line, pixel, line.weights + panel * line.row_count * line.steps * 64, sums);
  const __m512 low = _mm512_set1_ps(result.low), high = _mm512_set1_ps(result.high);
#pragma GCC unroll 2
  for (int i = 0; i < panels; ++i) {
    const std::int64_t channel = (panel + i) * image_panel, rest = result.channels - channel;
    const auto mask = static_cast<__mmask16>(rest >= image_panel ? sixteen : (1U << rest) - 1);
#pragma GCC unroll 6
    for (int at = 0; at < pixels; ++at)
      _mm256_mask_storeu_epi16(
          result.y + ((pixel + at) * result.channels + channel) * 2, mask,
          narrowed_to_bf16(_mm512_min_ps(high, _mm512_max_ps(low, sums[i][at]))));  // NaN stays
  }
}

template <int panels>
void float_panels(const ImageSums& line, std::int64_t panel, const NarrowImageResult& result) {
  std::int64_t pixel = 0;
  for (; pixel + most_pixels <= line.pixels; pixel += most_pixels)
    float_pixels<panels, most_pixels>(line, panel, pixel, result);
  for (; pixel < line.pixels; ++pixel) float_pixels<panels, 1>(line, panel, pixel, result);
}

}  // namespace

void image_byte_sums(const ImageSums& line, std::int32_t* sums) {
  std::int64_t panel = 0;
  for (; panel + 2 <= line.panels; panel += 2) byte_panels<2>(line, panel, sums);
  if (panel < line.panels) byte_panels<1>(line, panel, sums);
}

void image_float_sums(const ImageSums& line, const NarrowImageResult& result) {
  std::int64_t panel = 0;
  for (; panel + 2 <= line.panels; panel += 2) float_panels<2>(line, panel, result);
  if (panel < line.panels) float_panels<1>(line, panel, result);
}

}  // namespace narrowgauge::cpu::avx512
