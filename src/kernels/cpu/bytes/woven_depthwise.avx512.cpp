// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/cpu/bytes/woven_depthwise_line.h"
#include "kernels/cpu/lanes/assembly_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr int most_pixels = 4;  // at a time
constexpr __mmask16 sixteen = 0xffff;

// Four lines of 64 channels as fours of bytes, in the order of woven_place().
struct Fours {
  __m512i parts[4];
};

// The windows and formats that code is made for.
struct Form {
  int window, stride;
  bool is_signed;  // x
  constexpr int columns(int count) const { return (count - 1) * stride + window; }
};

// The sums of a panel, for `count` neighbouring pixels of y.
template <int count>
struct PanelSums {
  __m512i parts[count][4];
};

// Which pixels and channels are computed together.
struct Place {
  std::int64_t pixel, channel;
  __mmask64 mask;  // of channels
};

// The settings that are the same for all pixels of a line.
struct LineSettings {
  __m512i padding;
  __m512 low, high;
  __m512i y_zero;

  explicit LineSettings(const WovenDepthwiseLine& line)
      : padding(
            _mm512_set1_epi8(static_cast<char>(line.x_signed ? line.x_zero ^ 0x80 : line.x_zero))),
        low(_mm512_set1_ps(line.low)),
        high(_mm512_set1_ps(line.high)),
        y_zero(_mm512_set1_epi16(static_cast<short>(line.y_zero))) {}
};

[[gnu::always_inline]] inline Fours woven(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i low_ab = _mm512_unpacklo_epi8(a, b), high_ab = _mm512_unpackhi_epi8(a, b);
  const __m512i low_cd = _mm512_unpacklo_epi8(c, d), high_cd = _mm512_unpackhi_epi8(c, d);
  return {{_mm512_unpacklo_epi16(low_ab, low_cd), _mm512_unpackhi_epi16(low_ab, low_cd),
           _mm512_unpacklo_epi16(high_ab, high_cd), _mm512_unpackhi_epi16(high_ab, high_cd)}};
}

// A column of up to four lines of x from `first` on, as unsigned bytes.
template <Form form, int first>
[[gnu::always_inline]] inline Fours load_column(const WovenDepthwiseLine& line, std::int64_t pixel,
                                                const Place& place) {
  __m512i rows[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm512_setzero_si512();
    if (first + i >= form.window) continue;
    const std::byte* const from = line.lines[first + i] + pixel * line.pitches[first + i];
    rows[i] = _mm512_maskz_loadu_epi8(place.mask, from + place.channel);
    if (form.is_signed)
      rows[i] = _mm512_xor_si512(rows[i], _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  return woven(rows[0], rows[1], rows[2], rows[3]);
}

[[gnu::always_inline]] inline __m512i in_steps(__m512i sums, __m512 factors, __m512 biases,
                                               const LineSettings& settings) {
  __m512 y = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(sixteen, sums), factors, biases);
  y = _mm512_maskz_min_ps(sixteen, settings.high,
                          _mm512_maskz_max_ps(sixteen, settings.low, y));  // NaN stays
  return _mm512_maskz_cvtps_epi32(_mm512_cmp_ps_mask(y, y, _CMP_ORD_Q), y);
}

// Puts the channels back into their order as it narrows.
template <int count>
[[gnu::always_inline]] inline void store_bytes(const WovenDepthwiseLine& line,
                                               const LineSettings& settings,
                                               const PanelSums<count>& sums, const Place& place,
                                               std::byte* y) {
  __m512 factors[4], biases[4];
#pragma GCC unroll 4
  for (int part = 0; part < 4; ++part) {
    factors[part] = _mm512_loadu_ps(line.lists.factors + place.channel + 16 * part);
    biases[part] = _mm512_loadu_ps(line.lists.biases + place.channel + 16 * part);
  }
#pragma GCC unroll 4
  for (int pixel = 0; pixel < count; ++pixel) {
    const auto steps = [&](int part) __attribute__((always_inline)) {
      return in_steps(sums.parts[pixel][part], factors[part], biases[part], settings);
    };
    const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(steps(0), steps(1)), settings.y_zero);
    const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(steps(2), steps(3)), settings.y_zero);
    _mm512_mask_storeu_epi8(
        y + pixel * line.channels, place.mask,
        line.y_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high));
  }
}

// Adds what four lines of x from `first` on give.
template <Form form, int first, int count, bool is_edge>
[[gnu::always_inline]] inline void add_lines(const WovenDepthwiseLine& line,
                                             const LineSettings& settings, const Place& place,
                                             const std::byte* weights, PanelSums<count>& sums) {
  constexpr int columns = form.columns(count);
#pragma GCC unroll 16
  for (int column = 0; column < columns; ++column) {
    const std::int64_t pixel = place.pixel * form.stride - line.pad + column;
    Fours fours;
    if (is_edge && (pixel < 0 || pixel >= line.x_pixels))
      fours = {{settings.padding, settings.padding, settings.padding, settings.padding}};
    else
      fours = load_column<form, first>(line, pixel, place);
#pragma GCC unroll 5
    for (int tap = 0; tap < form.window; ++tap) {
      const int to = (column - tap) / form.stride;
      if (column < tap || (column - tap) % form.stride != 0 || to >= count) continue;
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part)
        add_products_of_bytes(sums.parts[to][part], fours.parts[part],
                              _mm512_loadu_si512(weights + (tap * 4 + part) * woven_panel));
    }
  }
}

// Prefetches what these pixels need of the lines that come next, at `at` in each.
template <Form form, int count>
[[gnu::always_inline]] inline void fetch_ahead(const WovenDepthwiseLine& line, std::int64_t at) {
  const std::byte* from = line.ahead + at;
  for (std::int64_t i = 0; i < line.ahead_lines; ++i, from += line.ahead_bytes)
#pragma GCC unroll 8
    for (int column = 0; column < count * form.stride; ++column)
      _mm_prefetch(reinterpret_cast<const char*>(from + column * line.channels), _MM_HINT_T0);
}

// Pixels [begin, begin + count) of y.
template <Form form, int count, bool is_edge>
void run_pixels(const WovenDepthwiseLine& line, const LineSettings& settings, std::int64_t begin) {
  for (std::int64_t panel = line.begin; panel < line.end; ++panel) {
    const std::int64_t channel = panel * woven_panel, rest = line.channels - channel;
    const Place place{begin, channel,
                      rest >= woven_panel ? ~__mmask64{0} : (__mmask64{1} << rest) - 1};
    const std::byte* const weights = line.lists.weights + panel * woven_weight_bytes(form.window);
    PanelSums<count> sums;
#pragma GCC unroll 4
    for (int pixel = 0; pixel < count; ++pixel)
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part)
        sums.parts[pixel][part] = _mm512_loadu_si512(line.lists.offsets + channel + 16 * part);
    add_lines<form, 0, count, is_edge>(line, settings, place, weights, sums);
    if constexpr (form.window > 4)
      add_lines<form, 4, count, is_edge>(line, settings, place,
                                         weights + form.window * 4 * woven_panel, sums);
    fetch_ahead<form, count>(line, (begin * form.stride - line.pad) * line.channels + channel);
    store_bytes(line, settings, sums, place, line.y + begin * line.channels + channel);
  }
}

template <Form form, int count>
void run_block(const WovenDepthwiseLine& line, const LineSettings& settings, std::int64_t begin) {
  const std::int64_t first = begin * form.stride - line.pad;
  if (first >= 0 && first + form.columns(count) <= line.x_pixels)
    run_pixels<form, count, false>(line, settings, begin);
  else
    run_pixels<form, count, true>(line, settings, begin);
}

template <Form form>
void run_line(const WovenDepthwiseLine& line) {
  const LineSettings settings(line);
  std::int64_t pixel = 0;
  for (; pixel + most_pixels <= line.y_pixels; pixel += most_pixels)
    run_block<form, most_pixels>(line, settings, pixel);
  if (line.y_pixels - pixel == 3) return run_block<form, 3>(line, settings, pixel);
  if (line.y_pixels - pixel == 2) return run_block<form, 2>(line, settings, pixel);
  if (line.y_pixels - pixel == 1) return run_block<form, 1>(line, settings, pixel);
}

template <bool is_signed>
void run_signed(const WovenDepthwiseLine& line) {
  if (line.window == 3)
    return (line.stride == 1 ? run_line<Form{3, 1, is_signed}>
                             : run_line<Form{3, 2, is_signed}>)(line);
  (line.stride == 1 ? run_line<Form{5, 1, is_signed}> : run_line<Form{5, 2, is_signed}>)(line);
}

}  // namespace

void woven_depthwise_line(const WovenDepthwiseLine& line) {
  (line.x_signed ? run_signed<true> : run_signed<false>)(line);
}

}  // namespace narrowgauge::cpu::avx512
