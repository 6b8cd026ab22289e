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
      : product_(product), sums_(sums), block_(block), next_(next) {}

  [[gnu::always_inline]] void finish(std::int64_t tile, std::int64_t begin,
                                     std::int64_t end) const {
    const std::int64_t column = block_.column, channels = product_.channels;
    if (column + tile_panel > channels) return few(tile, begin, end);
    const QuantizedFinish& finish = product_.finish;
    const avx512::QuantizedPair<y, residual, saturates> pair(finish, column);
    const __m512i offsets[2] = {Sixteens::load(finish.offsets + column),
                                Sixteens::load(finish.offsets + column + quantized_panel)};
    const std::int32_t* const sums = sums_ + tile * tile_pixels * tile_panel;
    const PixelTile &now = block_.tiles[tile],
                    &then = next_.tiles[tile < next_.tile_count ? tile : 0];
    for_each_row(
        now, then, begin, end,
        [&](std::int64_t row, std::int64_t pixel, std::int64_t next)
            __attribute__((always_inline)) {
              if constexpr (residual != QuantizedResidual::none)
                __builtin_prefetch(residual_at(next * channels + next_.column));
              const std::int32_t* const from = sums + row * tile_panel;
              const std::int64_t at = pixel * channels + column;
              pair.finish(Sixteens::sub(Sixteens::load(from), offsets[0]),
                          Sixteens::sub(Sixteens::load(from + quantized_panel), offsets[1]),
                          residual_at(at), product_.y + at * Numbers::y_size);
            });
  }

 private:
  using Numbers = QuantizedColumnNumbers<Sixteens, y, residual>;

  [[gnu::always_inline]] const std::byte* residual_at(std::int64_t at) const {
    return residual == QuantizedResidual::none ? nullptr : product_.residual + at * Numbers::r_size;
  }

  // The last channels, which are no whole panel.
  [[gnu::noinline]] void few(std::int64_t tile, std::int64_t begin, std::int64_t end) const {
    const std::int64_t channels = product_.channels;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t pixel = block_.tiles[tile].pixels[row];
      if (pixel < 0) continue;
      const std::int64_t at = pixel * channels + block_.column;
      finish_panels<Sixteens, y, residual>(
          product_.finish, {1, block_.column, channels - block_.column,
                            sums_ + (tile * tile_pixels + row) * tile_panel, nullptr, tile_panel,
                            residual_at(at), product_.y + at * Numbers::y_size, 0});
    }
  }

  const QuantizedTileProduct& product_;
  const std::int32_t* sums_;
  const PixelBlock &block_, &next_;
};

template <int form>
struct MultiplyBytes {
  using Sum = std::int32_t;
  template <bool two>
  [[gnu::always_inline]] static void step(const TilesOfA& a, const std::byte* b, std::int64_t) {
    multiply_bytes<form, Reading::reused, two>(a, b);
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

template <DType y, QuantizedResidual residual>
void for_bounds(const QuantizedTileProduct& product) {
  if constexpr (y != DType::f32 && residual != QuantizedResidual::f32)
    if (product.saturates) return for_signs<y, residual, true>(product);
  for_signs<y, residual, false>(product);
}

template <DType y>
void for_residual(const QuantizedTileProduct& product) {
  if (!product.residual) return for_bounds<y, QuantizedResidual::none>(product);
  if (product.finish.residual == DType::f32) return for_bounds<y, QuantizedResidual::f32>(product);
  if (product.finish.residual == DType::u8) return for_bounds<y, QuantizedResidual::u8>(product);
  return for_bounds<y, QuantizedResidual::i8>(product);
}

}  // namespace

void quantized_multiply(const QuantizedTileProduct& product) {
  const TileScope tiles;
  before_tile_loads();
  if (product.finish.y == DType::f32) return for_residual<DType::f32>(product);
  if (product.finish.y == DType::u8) return for_residual<DType::u8>(product);
  return for_residual<DType::i8>(product);
}

}  // namespace narrowgauge::cpu::amx
