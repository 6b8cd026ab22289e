// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_lines.h"

#include "kernels/cpu/tiles/split_tiles.amx.h"

namespace narrowgauge::cpu::amx {

void pad_pixels(const std::byte* x, std::int64_t x_step, std::int64_t bytes, std::int64_t count,
                std::int64_t to_step, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i, x += x_step, to += to_step)
    for (std::int64_t at = 0; at < bytes; at += tile_step_bytes) {
      const std::int64_t left = bytes - at;
      const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
      _mm512_storeu_si512(to + at, _mm512_maskz_loadu_epi8(mask, x + at));
    }
}

void split_pixels(const std::byte* x, std::int64_t x_step, std::int64_t channels,
                  std::int64_t count, std::int64_t to_step, std::byte* to) {
  constexpr std::int64_t in_step = tile_step_bytes / 2;
  for (std::int64_t i = 0; i < count; ++i, x += x_step, to += to_step)
    for (std::int64_t c = 0; c < channels; c += in_step) {
      const auto half = [&](std::int64_t first) {
        const std::int64_t left = channels - first;
        const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffff
                                                 : left > 0 ? (1 << left) - 1
                                                            : 0);
        return _mm512_maskz_loadu_ps(mask, x + 4 * first);
      };
      const SplitRow row = split_row<DType::f32>({half(c), half(c + 16)});
      _mm512_storeu_si512(to + 2 * c, row.high);
      _mm512_storeu_si512(to + to_step / 2 + 2 * c, row.low);
    }
}

}  // namespace narrowgauge::cpu::amx
