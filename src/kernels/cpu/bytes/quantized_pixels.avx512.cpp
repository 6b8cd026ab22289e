// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_pixels.h"

#include <immintrin.h>

#include "kernels/cpu/bytes/byte_sums_avx512.h"
#include "kernels/cpu/bytes/quantized_finish_avx512.h"
#include "kernels/cpu/lanes/assembly_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

// Sums for a segment of `first` pixels and one of `second`, which may be none.
template <int first, int second, int panels>
struct SumsOfPixels : ByteSums<first + second, panels> {
  using ByteSums<first + second, panels>::sums;

  // Pixels from `pixel` on of `count`, whose sums stand from `at` on.
  template <int at, int count, int pixel = 0>
  [[gnu::always_inline]] void add(const std::byte* fours, const Pitches& pitch,
                                  const __m512i (&columns)[panels]) {
    if constexpr (pixel < count) {
      const __m512i four = broadcast<pixel>(fours, pitch);
#pragma GCC unroll 2
      for (int v = 0; v < panels; ++v) add_products_of_bytes(sums[at + pixel][v], four, columns[v]);
      add<at, count, pixel + 1>(fours, pitch, columns);
    }
  }
};

// Two segments, or one, by two panels of the weights, or one.
struct PixelBlock {
  const std::byte* segments[2];
  const std::byte* weights;
  const std::int32_t* starts;
  const std::byte* ahead;  // to prefetch into L2: a line for each step
  std::int32_t* sums;      // [pixels of both][panels * 16]
};

template <int first, int second, int panels>
void multiply_block(const PixelTask& task, const PixelBlock& block) {
  const Pitches pitch{task.pixel_bytes, 3 * task.pixel_bytes, 5 * task.pixel_bytes};
  const std::int64_t steps = task.steps_in_run, panel_bytes = task.panel_bytes;
  const std::byte *panel = block.weights, *ahead = block.ahead;
  SumsOfPixels<first, second, panels> all;
  all.begin(block.starts);
  for (std::int64_t run = 0; run < task.runs; ++run) {
    const std::byte* upper = block.segments[0] + task.run_at[run];
    const std::byte* lower = block.segments[second > 0] + task.run_at[run];
    for (std::int64_t step = 0; step < steps; ++step) {
      __m512i columns[panels];
#pragma GCC unroll 2
      for (int v = 0; v < panels; ++v) columns[v] = _mm512_loadu_si512(panel + v * panel_bytes);
      __builtin_prefetch(ahead, 0, 2);
      all.template add<0, first>(upper, pitch, columns);
      all.template add<first, second>(lower, pitch, columns);
      panel += 64;
      ahead += 64;
      upper += 4;
      lower += 4;
    }
  }
  all.store(block.sums);
}

using MultiplyBlock = void (*)(const PixelTask& task, const PixelBlock& block);

// The second segment is as long as the first, or shorter than one of seven, or missing.
template <int panels>
MultiplyBlock for_lengths(std::int64_t first, std::int64_t second) {
  static constexpr MultiplyBlock alone[segment_pixels] = {
      multiply_block<1, 0, panels>, multiply_block<2, 0, panels>, multiply_block<3, 0, panels>,
      multiply_block<4, 0, panels>, multiply_block<5, 0, panels>, multiply_block<6, 0, panels>,
      multiply_block<7, 0, panels>};
  static constexpr MultiplyBlock equal[segment_pixels] = {
      multiply_block<1, 1, panels>, multiply_block<2, 2, panels>, multiply_block<3, 3, panels>,
      multiply_block<4, 4, panels>, multiply_block<5, 5, panels>, multiply_block<6, 6, panels>,
      multiply_block<7, 7, panels>};
  static constexpr MultiplyBlock of_seven[segment_pixels] = {
      multiply_block<7, 1, panels>, multiply_block<7, 2, panels>, multiply_block<7, 3, panels>,
      multiply_block<7, 4, panels>, multiply_block<7, 5, panels>, multiply_block<7, 6, panels>,
      multiply_block<7, 7, panels>};
  if (second == 0) return alone[first - 1];
  return second == first ? equal[first - 1] : of_seven[second - 1];
}

template <QuantizedResult y, QuantizedBehind behind, bool saturates>
class PixelLoop {
 public:
  explicit PixelLoop(const PixelTask& task)
      : t_(task),
        multiply_{{for_lengths<1>(t_.lengths[0], 0), for_lengths<2>(t_.lengths[0], 0)},
                  {for_lengths<1>(t_.lengths[0], t_.lengths[1]),
                   for_lengths<2>(t_.lengths[0], t_.lengths[1])}} {}

  void run() {
    const std::int64_t end = t_.first_panel + t_.panels;
    if (t_.pixel_by_pixel) {
      for (std::int64_t at = 0; at < t_.count; at += 2)
        for (std::int64_t panel = t_.first_panel; panel < end; panel += block_panels)
          one_block(at, panel, pixels_ahead(at, panel));
    } else {
      for (std::int64_t panel = t_.first_panel; panel < end; panel += block_panels)
        for (std::int64_t at = 0; at < t_.count; at += 2)
          one_block(at, panel, weights_ahead(at, panel));
    }
  }

 private:
  using Numbers = QuantizedColumnNumbers<Sixteens, y, behind>;

  const std::byte* weights(std::int64_t panel) const { return t_.weights + panel * t_.panel_bytes; }
  // While two segments meet the first panels, those of the next block come nearer, which lie behind
  // them in x.
  const std::byte* pixels_ahead(std::int64_t at, std::int64_t panel) const {
    const std::int64_t done =
        (panel - t_.first_panel) / block_panels * t_.runs * t_.steps_in_run * 64;
    if (t_.copied || at + 3 >= t_.count || done >= (t_.lengths[0] + t_.lengths[1]) * t_.pixel_bytes)
      return weights(panel);
    return t_.segments[at + 2].x + done;
  }
  // While the first blocks meet some panels, the weights of the next ones do.
  const std::byte* weights_ahead(std::int64_t at, std::int64_t panel) const {
    const std::int64_t next = panel + block_panels + at / 2;
    return weights(at / 2 < block_panels && next < t_.first_panel + t_.panels ? next : panel);
  }

  void one_block(std::int64_t at, std::int64_t panel, const std::byte* ahead) {
    const std::int64_t count = at + 1 < t_.count ? 2 : 1;
    const std::int64_t left = t_.first_panel + t_.panels - panel;
    const std::int64_t panels = left < block_panels ? left : block_panels;
    const std::int64_t column = panel * quantized_panel, width = panels * quantized_panel;
    const PixelSegment* const segments = t_.segments + at;
    multiply_[count - 1][panels - 1](
        t_,
        {{segments[0].x, segments[count - 1].x}, weights(panel), t_.starts + column, ahead, sums_});
    const bool whole = width == Pair::columns && column + width <= t_.channels;
    for (std::int64_t i = 0; i < count; ++i) {
      const PixelSegment& next = segments[at + i + 2 < t_.count ? i + 2 : i];
      const std::int64_t left_out = segments[i].skipped, pixels = t_.lengths[i] - left_out;
      const std::int32_t* const sums = sums_ + (i * t_.lengths[0] + left_out) * width;
      const Finished finished{segments[i].pixel, pixels, column, sums};
      if (whole)
        finish(finished, next.pixel);
      else
        finish_few(finished, width);
    }
  }

  using Pair = QuantizedPair<y, behind, saturates>;

  std::int64_t element(std::int64_t pixel, std::int64_t column) const {
    return pixel * t_.channels + column;
  }
  const std::byte* residual_at(std::int64_t element) const {
    return Numbers::has_residual ? t_.residual + element * Numbers::r_size : nullptr;
  }

  // Pixels of a segment, from `column` on.
  struct Finished {
    std::int64_t pixel, count, column;
    const std::int32_t* sums;
  };

  [[gnu::always_inline]] void finish(const Finished& of, std::int64_t next_pixel) const {
    const Pair pair(t_.finish, of.column);
    const std::int64_t pitch = t_.channels;
    const std::int32_t* sums = of.sums;
    std::int64_t at = element(of.pixel, of.column);
    const std::byte* ahead = residual_at(element(next_pixel, of.column));
    for (std::int64_t i = 0; i < of.count; ++i, at += pitch, sums += Pair::columns) {
      if constexpr (Numbers::has_residual) {
        __builtin_prefetch(ahead);
        ahead += pitch * Numbers::r_size;
      }
      pair.finish(Sixteens::load(sums), Sixteens::load(sums + quantized_panel), residual_at(at),
                  t_.y + at * Numbers::y_size);
    }
  }

  // The last channels, which are no two panels. What is behind them is computed, but not stored.
  [[gnu::noinline]] void finish_few(const Finished& of, std::int64_t width) const {
    const Pair pair(t_.finish, of.column);
    const std::int64_t left = t_.channels - of.column, columns = left < width ? left : width;
    alignas(64) std::byte all[segment_pixels][4 * Pair::columns], r[segment_pixels][sizeof all[0]];
    for (std::int64_t i = 0; i < of.count; ++i) {
      const std::int32_t* const sums = of.sums + i * width;
      if constexpr (Numbers::has_residual)
        copy(residual_at(element(of.pixel + i, of.column)), columns * Numbers::r_size, r[i]);
      pair.finish(Sixteens::load(sums), Sixteens::load(sums + quantized_panel), r[i], all[i]);
    }
    for (std::int64_t i = 0; i < of.count; ++i)
      copy(all[i], columns * Numbers::y_size,
           t_.y + element(of.pixel + i, of.column) * Numbers::y_size);
  }

  [[gnu::always_inline]] static void copy(const std::byte* from, std::int64_t bytes,
                                          std::byte* to) {
    for (; bytes > 0; bytes -= 64, from += 64, to += 64) {
      const __mmask64 mask = bytes < 64 ? (__mmask64{1} << bytes) - 1 : ~__mmask64{0};
      _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
    }
  }

  const PixelTask t_;  // a copy: results are bytes, which might lie anywhere
  const MultiplyBlock multiply_[2][2];
  // A panel alone is read as if another one stood behind it.
  alignas(64) std::int32_t sums_[2 * segment_pixels * block_panels * quantized_panel]{};
};

}  // namespace

void multiply_pixels(const PixelTask& task) {
  QuantizedPlace place{};
  place.residual = task.residual;
  with_quantized_types(task.finish, place, [&]<QuantizedResult y, QuantizedBehind behind>() {
    if constexpr (may_saturate<y, behind>)
      if (task.finish.saturates) return PixelLoop<y, behind, true>(task).run();
    PixelLoop<y, behind, false>(task).run();
  });
}

}  // namespace narrowgauge::cpu::avx512
