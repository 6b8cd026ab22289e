// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_tiles.h"

#include "kernels/cpu/amx/byte_tiles.amx.h"
#include "kernels/cpu/bytes/quantized_finish_avx512.h"
#include "kernels/cpu/tiles/pixel_loop.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

using avx512::Sixteens;
using avx512::SteppedRow;

// Finishes rows of a block's sums, and prefetches what the next block will need.
template <QuantizedResult y, QuantizedBehind behind, bool saturates>
class SumsToFinish {
 public:
  using Context = QuantizedTileProduct;
  SumsToFinish(const QuantizedTileProduct& product, const std::int32_t* sums,
               const PixelBlock& block, const PixelBlock& next)
      : product_(product),
        sums_(sums),
        rows_(block, next),
        column_(block.column),
        pitch_(product.channels),
        y_(product.y + block.column * Numbers::y_size),
        next_y_(product.y + next.column * Numbers::y_size),
        residual_(Numbers::has_residual ? product.residual + block.column * Numbers::r_size
                                        : nullptr),
        next_residual_(Numbers::has_residual ? product.residual + next.column * Numbers::r_size
                                             : nullptr),
        pair_(product.finish, block.column) {}

  // Each row of a tile begins with the same starts.
  [[gnu::always_inline]] static void begin(const QuantizedTileProduct& product,
                                           std::int64_t column) {
    if (product.starts_at_zero) return zero_sums();
    const std::int32_t* const starts = product.finish.starts + column;
    _tile_loadd(0, starts, 0);
    _tile_loadd(1, starts + quantized_panel, 0);
    _tile_loadd(2, starts, 0);
    _tile_loadd(3, starts + quantized_panel, 0);
  }

  [[gnu::always_inline]] void finish(std::int64_t begin, std::int64_t end) const {
    if (column_ + tile_panel > pitch_) return few(product_, {sums_, rows_, column_}, begin, end);
    rows_.each(
        begin, end,
        [&](std::int64_t row, std::int64_t pixel, std::int64_t next)
            __attribute__((always_inline)) {
              fetch(next);
              fetch(next + 1);
              const SteppedRow first = steps(row, pixel);
              store(first, steps(row + 1, pixel + 1), pixel);
            },
        [&](std::int64_t row, std::int64_t pixel, std::int64_t next)
            __attribute__((always_inline)) {
              fetch(next);
              store(steps(row, pixel), pixel);
            });
  }

 private:
  using Pair = avx512::QuantizedPair<y, behind, saturates>;
  using Numbers = typename Pair::Numbers;

  [[gnu::always_inline]] void fetch(std::int64_t next) const {
    __builtin_prefetch(next_y_ + next * pitch_ * Numbers::y_size, 1, 2);
    if constexpr (Numbers::has_residual)
      __builtin_prefetch(next_residual_ + next * pitch_ * Numbers::r_size);
  }
  [[gnu::always_inline]] SteppedRow steps(std::int64_t row, std::int64_t pixel) const {
    const std::int32_t* const sums = sums_ + row * tile_panel;
    return pair_.steps(
        Sixteens::load(sums), Sixteens::load(sums + quantized_panel),
        Numbers::has_residual ? residual_ + pixel * pitch_ * Numbers::r_size : nullptr);
  }
  [[gnu::always_inline]] void store(const SteppedRow& row, std::int64_t pixel) const {
    std::byte* const to = y_ + pixel * pitch_ * Numbers::y_size;
    if constexpr (y == QuantizedResult::bf16)
      _mm512_storeu_si512(to, to_bf16(row.low, row.high));
    else
      pair_.store(row, to);
  }
  // Stores two neighbouring rows.
  [[gnu::always_inline]] void store(const SteppedRow& first, const SteppedRow& second,
                                    std::int64_t pixel) const {
    if constexpr (y == QuantizedResult::bf16) {
      store(first, pixel);
      store(second, pixel + 1);
    } else {
      pair_.store(first, second, y_ + pixel * pitch_ * Numbers::y_size, pitch_);
    }
  }

  struct Few {
    const std::int32_t* sums;
    const BlockRows rows;
    std::int64_t column;
  };
  // The last channels, which are no whole panel. Takes copies, so that all else stays in registers.
  [[gnu::noinline]] static void few(const QuantizedTileProduct& product, const Few of,
                                    std::int64_t begin, std::int64_t end) {
    QuantizedFinish finish = product.finish;
    finish.starts = nullptr;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t pixel = of.rows.pixel(row);
      if (pixel < 0) continue;
      const std::int64_t at = pixel * product.channels + of.column;
      finish_panels<Sixteens, y, behind>(
          finish,
          {1, of.column, product.channels - of.column, of.sums + row * tile_panel, nullptr,
           tile_panel, Numbers::has_residual ? product.residual + at * Numbers::r_size : nullptr,
           product.y + at * Numbers::y_size, 0});
    }
  }

  const QuantizedTileProduct& product_;
  const std::int32_t* sums_;
  const BlockRows rows_;
  std::int64_t column_, pitch_;  // elements from pixel to pixel
  std::byte *y_, *next_y_;
  const std::byte *residual_, *next_residual_;
  Pair pair_;
};

// The sign of x is asked in each step, which the processor predicts, as loops of their own would be
// as much code again.
struct MultiplyBytes {
  using Sum = std::int32_t;
  bool x_signed;
  template <bool two, Reading reading>
  [[gnu::always_inline]] void step(const TilesOfA& a, const std::byte* b, std::int64_t) const {
    if (x_signed)
      multiply_bytes<3, reading, two>(a, b);
    else
      multiply_bytes<1, reading, two>(a, b);
  }
};

template <QuantizedResult y, QuantizedBehind behind, bool saturates>
void multiply_all(const QuantizedTileProduct& product) {
  using Work = SumsToFinish<y, behind, saturates>;
  PixelLoop<MultiplyBytes, Work>(product.product, product, {product.x_signed}).run();
}

}  // namespace

void quantized_multiply(const QuantizedTileProduct& product) {
  const TileScope tiles;
  before_tile_loads();
  QuantizedPlace place{};
  place.residual = product.residual;
  with_quantized_types(product.finish, place, [&]<QuantizedResult y, QuantizedBehind behind>() {
    if constexpr (may_saturate<y, behind>)
      if (product.saturates) return multiply_all<y, behind, true>(product);
    multiply_all<y, behind, false>(product);
  });
}

}  // namespace narrowgauge::cpu::amx
