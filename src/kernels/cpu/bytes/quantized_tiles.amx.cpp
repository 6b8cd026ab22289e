// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_tiles.h"

#include "kernels/cpu/bytes/quantized_finish_avx512.h"
#include "kernels/cpu/tiles/byte_tiles.amx.h"
#include "kernels/cpu/tiles/pixel_loop.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

using avx512::Sixteens;

// Finishes rows of a block's sums, and fetches what the next block will need.
template <DType y, QuantizedResidual residual, bool saturates>
class SumsToFinish {
 public:
  using Context = QuantizedTileProduct;
  SumsToFinish(const QuantizedTileProduct& product, const std::int32_t* sums,
               const PixelBlock& block, const PixelBlock& next)
      : product_(product),
        sums_(sums),
        rows_(block, next),
        column_(block.column),
        next_column_(next.column),
        channels_(product.channels),
        y_(product.y + block.column * Numbers::y_size),
        pair_(product.finish, block.column),
        offsets_{Sixteens::load(product.finish.offsets + block.column),
                 Sixteens::load(product.finish.offsets + block.column + quantized_panel)} {}

  [[gnu::always_inline]] void finish(std::int64_t begin, std::int64_t end) const {
    if (column_ + tile_panel > channels_) return few(begin, end);
    rows_.each(
        begin, end,
        [&](std::int64_t row, std::int64_t pixel, std::int64_t next)
            __attribute__((always_inline)) { one_row(row, pixel, next); });
  }

 private:
  using Numbers = QuantizedColumnNumbers<Sixteens, y, residual>;

  [[gnu::always_inline]] void one_row(std::int64_t row, std::int64_t pixel,
                                      std::int64_t next) const {
    if constexpr (Numbers::has_residual)
      __builtin_prefetch(residual_at(next * channels_ + next_column_));
    const std::int32_t* const sums = sums_ + row * tile_panel;
    const std::byte* const r = residual_at(pixel * channels_ + column_);
    std::byte* const to = y_ + pixel * channels_ * Numbers::y_size;
    const __m512i low = Sixteens::sub(Sixteens::load(sums), offsets_[0]);
    const __m512i high = Sixteens::sub(Sixteens::load(sums + quantized_panel), offsets_[1]);
    if constexpr (y == DType::bf16) {
      __m512 both[2];
      pair_.steps(low, high, r, both);
      _mm512_storeu_si512(to, to_bf16(both[0], both[1]));
    } else {
      pair_.finish(low, high, r, to);
    }
  }

  [[gnu::always_inline]] const std::byte* residual_at(std::int64_t at) const {
    return Numbers::has_residual ? product_.residual + at * Numbers::r_size : nullptr;
  }

  // The last channels, which are no whole panel.
  [[gnu::noinline]] void few(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t pixel = rows_.pixel(row);
      if (pixel < 0) continue;
      const std::int64_t at = pixel * channels_ + column_;
      finish_panels<Sixteens, y, residual>(
          product_.finish, {1, column_, channels_ - column_, sums_ + row * tile_panel, nullptr,
                            tile_panel, residual_at(at), product_.y + at * Numbers::y_size, 0});
    }
  }

  const QuantizedTileProduct& product_;
  const std::int32_t* sums_;
  const BlockRows rows_;
  std::int64_t column_, next_column_, channels_;
  std::byte* y_;
  avx512::QuantizedPair<y, residual, saturates> pair_;
  __m512i offsets_[2];
};

template <int form>
struct MultiplyBytes {
  using Sum = std::int32_t;
  template <bool two, Reading reading>
  [[gnu::always_inline]] static void step(const TilesOfA& a, const std::byte* b, std::int64_t) {
    multiply_bytes<form, reading, two>(a, b);
  }
};

template <DType y, QuantizedResidual residual, bool saturates>
void for_signs(const QuantizedTileProduct& product) {
  using Work = SumsToFinish<y, residual, saturates>;
  if (product.x_signed)
    PixelLoop<MultiplyBytes<3>, Work>(product.product, product).run();
  else
    PixelLoop<MultiplyBytes<1>, Work>(product.product, product).run();
}

}  // namespace

void quantized_multiply(const QuantizedTileProduct& product) {
  const TileScope tiles;
  before_tile_loads();
  QuantizedPlace place{};
  place.residual = product.residual;
  with_quantized_types(product.finish, place, [&]<DType y, QuantizedResidual residual>() {
    if constexpr (may_saturate<y, residual>)
      if (product.saturates) return for_signs<y, residual, true>(product);
    for_signs<y, residual, false>(product);
  });
}

}  // namespace narrowgauge::cpu::amx
