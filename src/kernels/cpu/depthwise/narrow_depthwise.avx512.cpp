// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/cpu/depthwise/narrow_depthwise_line.h"
#include "kernels/cpu/lanes/assembly_avx512.h"
#include "kernels/cpu/lanes/bf16_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr __mmask32 odd = 0xaaaaaaaa, all = 0xffffffff;
constexpr std::int64_t most_pixels = 7;  // at a time: divides what is usual for lines of images

// 32 channels: those that are even, and those that are odd.
struct Channels {
  __m512 even, odd;
};

[[gnu::always_inline]] inline Channels widened(__m512i bits) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(bits, 16)),
          _mm512_castsi512_ps(_mm512_and_si512(bits, high))};
}

[[gnu::always_inline]] inline Channels load(const float* from) {
  return {_mm512_loadu_ps(from), _mm512_loadu_ps(from + depthwise_panel / 2)};
}

template <bool has_bf16>
[[gnu::always_inline]] inline __m512i joined(const Channels& x) {
  if constexpr (!has_bf16)
    return _mm512_mask_blend_epi16(odd, _mm512_srli_epi32(rounded_to_bf16(x.even), 16),
                                   rounded_to_bf16(x.odd));
  alignas(64) static constexpr std::uint16_t in_turn[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_maskz_permutexvar_epi16(all, _mm512_load_si512(in_turn), as_bf16(x.even, x.odd));
}

// The windows and CPUs that code is made for.
struct Form {
  int width, stride;
  bool has_bf16;  // the CPU: AVX512_BF16
  constexpr int columns(int count) const { return (count - 1) * stride + width; }
};

// Sums of `count` neighbouring pixels of y.
template <int count>
struct Sums {
  __m512 even[count], odd[count];
};

// Adds what one line of x gives; of its columns those are read that `inside` has a bit for.
template <Form form, int count, bool is_edge>
[[gnu::always_inline]] inline void add_line(const std::byte* x, std::int64_t pitch,
                                            const float* weights, __mmask32 mask,
                                            std::uint32_t inside, Sums<count>& sums) {
  constexpr int columns = form.columns(count), width = form.width;
  Channels w[width];
#pragma GCC unroll 8
  for (int tap = 0; tap < width; ++tap) w[tap] = load(weights + tap * depthwise_panel);
#pragma GCC unroll 32
  for (int column = 0; column < columns; ++column) {
    if (is_edge && (inside >> column & 1) == 0) continue;
    const Channels at = widened(_mm512_maskz_loadu_epi16(mask, x + column * pitch));
#pragma GCC unroll 8
    for (int tap = 0; tap < width; ++tap) {
      const int pixel = (column - tap) / form.stride;
      if (column < tap || (column - tap) % form.stride != 0 || pixel >= count) continue;
      sums.even[pixel] = _mm512_fmadd_ps(at.even, w[tap].even, sums.even[pixel]);
      sums.odd[pixel] = _mm512_fmadd_ps(at.odd, w[tap].odd, sums.odd[pixel]);
    }
  }
}

template <Form form, int count>
[[gnu::always_inline]] inline void store_sums(const NarrowDepthwiseLine& line, std::int64_t at,
                                              __mmask32 mask, const Sums<count>& sums) {
  const __m512 low = _mm512_set1_ps(line.low), high = _mm512_set1_ps(line.high);
  const std::int64_t pitch = 2 * line.channels;
  const std::byte* const residual = line.residual ? line.residual + at : nullptr;
  std::byte* const y_at = line.y + at;
#pragma GCC unroll 8
  for (int pixel = 0; pixel < count; ++pixel) {
    Channels y{sums.even[pixel], sums.odd[pixel]};
    if (residual) {
      const Channels other = widened(_mm512_maskz_loadu_epi16(mask, residual + pixel * pitch));
      y = {_mm512_add_ps(y.even, other.even), _mm512_add_ps(y.odd, other.odd)};
    }
    y = {_mm512_min_ps(high, _mm512_max_ps(low, y.even)),
         _mm512_min_ps(high, _mm512_max_ps(low, y.odd))};  // NaN stays
    _mm512_mask_storeu_epi16(y_at + pixel * pitch, mask, joined<form.has_bf16>(y));
  }
}

// Prefetches what these pixels need of the lines that come next, at `at` in each.
template <Form form, int count>
[[gnu::always_inline]] inline void fetch_ahead(const NarrowDepthwiseLine& line, std::int64_t at) {
  const std::byte* from = line.ahead + at;
  for (std::int64_t i = 0; i < line.ahead_lines; ++i, from += line.ahead_bytes)
#pragma GCC unroll 16
    for (int column = 0; column < count * form.stride; ++column)
      _mm_prefetch(reinterpret_cast<const char*>(from + column * 2 * line.channels), _MM_HINT_T0);
}

// Pixels [begin, begin + count) of y.
template <Form form, int count, bool is_edge>
void run_pixels(const NarrowDepthwiseLine& line, std::int64_t begin) {
  const std::int64_t first = begin * form.stride - line.pad, pitch = 2 * line.channels;
  std::uint32_t inside = 0;
  for (int column = 0; is_edge && column < form.columns(count); ++column)
    if (first + column >= 0 && first + column < line.x_pixels) inside |= 1U << column;
  const std::int64_t panel_floats = narrow_depthwise_panel_floats(line.height, line.width);
  for (std::int64_t channel = line.begin; channel < line.end; channel += depthwise_panel) {
    const std::int64_t rest = line.channels - channel;
    const __mmask32 mask = rest >= depthwise_panel ? all : static_cast<__mmask32>((1U << rest) - 1);
    const float* weights = line.panels + channel / depthwise_panel * panel_floats;
    const Channels bias = load(weights);
    weights += depthwise_panel;
    Sums<count> sums;
#pragma GCC unroll 8
    for (int pixel = 0; pixel < count; ++pixel) {
      sums.even[pixel] = bias.even;
      sums.odd[pixel] = bias.odd;
    }
    for (std::int64_t ky = 0; ky < line.height; ++ky, weights += form.width * depthwise_panel)
      if (line.lines[ky])
        add_line<form, count, is_edge>(line.lines[ky] + first * pitch + 2 * channel, pitch, weights,
                                       mask, inside, sums);
    fetch_ahead<form, count>(line, first * pitch + 2 * channel);
    store_sums<form>(line, begin * pitch + 2 * channel, mask, sums);
  }
}

template <Form form, int count>
void run_block(const NarrowDepthwiseLine& line, std::int64_t begin) {
  const std::int64_t first = begin * form.stride - line.pad;
  if (first >= 0 && first + form.columns(count) <= line.x_pixels)
    run_pixels<form, count, false>(line, begin);
  else
    run_pixels<form, count, true>(line, begin);
}

template <Form form>
void run_line(const NarrowDepthwiseLine& line) {
  std::int64_t pixel = 0;
  for (; pixel + most_pixels <= line.y_pixels; pixel += most_pixels)
    run_block<form, most_pixels>(line, pixel);
  for (; pixel + 2 <= line.y_pixels; pixel += 2) run_block<form, 2>(line, pixel);
  if (pixel < line.y_pixels) run_block<form, 1>(line, pixel);
}

template <int width, int stride>
void run_tier(const NarrowDepthwiseLine& line) {
  (line.has_bf16 ? run_line<Form{width, stride, true}>
                 : run_line<Form{width, stride, false}>)(line);
}

template <int width>
void run_stride(const NarrowDepthwiseLine& line) {
  (line.stride == 1 ? run_tier<width, 1> : run_tier<width, 2>)(line);
}

}  // namespace

void narrow_depthwise_line(const NarrowDepthwiseLine& line) {
  if (line.width == 3) return run_stride<3>(line);
  (line.width == 5 ? run_stride<5> : run_stride<7>)(line);
}

}  // namespace narrowgauge::cpu::avx512
