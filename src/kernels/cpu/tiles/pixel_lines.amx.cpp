// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_lines.h"

#include "kernels/cpu/batch_inner/split_tiles.amx.h"

namespace narrowgauge::cpu::amx {

void copy_pixels(const std::byte* x, std::int64_t x_step, std::int64_t bytes, std::int64_t count,
                 std::int64_t to_step, std::byte* to) {
  for (std::int64_t at = 0; at < bytes; at += tile_step_bytes) {
    const std::int64_t left = bytes - at;
    const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    for (std::int64_t i = 0; i < count; ++i)
      _mm512_mask_storeu_epi8(to + i * to_step + at, mask,
                              _mm512_maskz_loadu_epi8(mask, x + i * x_step + at));
  }
}

void weave_lines(const WovenLines& woven, std::byte* to) {
  const auto& [lines, count, channels, pixels, pad, from] = woven;
  const std::int64_t at_once = 64 / (count * channels), stored = at_once * count * channels;
  const __m512i order = _mm512_loadu_si512(from);
  const __m512i pads = _mm512_set1_epi8(static_cast<char>(pad));
  for (std::int64_t at = 0; at < pixels; at += at_once, to += stored) {
    const std::int64_t left = (pixels - at) * channels;
    const __mmask32 mask = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
    const auto half = [&](int line) {
      return line < count && lines[line]
                 ? _mm256_maskz_loadu_epi8(mask, lines[line] + at * channels)
                 : _mm512_castsi512_si256(pads);
    };
    const auto two = [&](int line) {
      return _mm512_maskz_inserti64x4(0xff, _mm512_zextsi256_si512(half(line)), half(line + 1), 1);
    };
    _mm512_storeu_si512(to, _mm512_permutex2var_epi8(two(0), order, two(2)));
  }
}

void split_pixels(const std::byte* x, std::int64_t x_step, std::int64_t channels,
                  std::int64_t count, std::int64_t to_step, std::byte* to) {
  constexpr std::int64_t in_step = tile_step_bytes / 2;
  for (std::int64_t i = 0; i < count; ++i, x += x_step, to += to_step)
    for (std::int64_t c = 0; c < channels; c += in_step) {
      const std::int64_t left = channels - c;
      const __mmask32 mask = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
      const auto low = static_cast<__mmask16>(mask), high = static_cast<__mmask16>(mask >> 16);
      const SplitRow row =
          split_row<DType::f32>({_mm512_maskz_loadu_ps(low, x + 4 * c),
                                 _mm512_maskz_loadu_ps(high, x + 4 * (c + in_step / 2))});
      _mm512_mask_storeu_epi16(to + 2 * c, mask, row.high);
      _mm512_mask_storeu_epi16(to + to_step / 2 + 2 * c, mask, row.low);
    }
}

}  // namespace narrowgauge::cpu::amx
