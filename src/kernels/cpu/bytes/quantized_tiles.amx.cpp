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
        block_(block),
        next_(next),
        channels_(product.channels),
        y_(product.y + block.column * Numbers::y_size),
        pair_(product.finish, block.column) {}

  [[gnu::always_inline]] void finish(std::int64_t begin, std::int64_t end) const {
    const std::int64_t column = block_.column;
    if (column + tile_panel > channels_) return few(begin, end);
    const std::int32_t* sums = sums_ + begin * tile_panel;
    for (std::int64_t row = begin; row < end; ++row, sums += tile_panel) {
      if constexpr (Numbers::has_residual)
        __builtin_prefetch(
            residual_at(next_.pixels[row < next_.rows ? row : 0] * channels_ + next_.column));
      const std::int64_t pixel = block_.pixels[row];
      if (pixel < 0) continue;
      const std::byte* const r = residual_at(pixel * channels_ + column);
      std::byte* const to = y_ + pixel * channels_ * Numbers::y_size;
      const __m512i low = Sixteens::load(sums), high = Sixteens::load(sums + quantized_panel);
      if constexpr (y == DType::bf16) {
        __m512 both[2];
        pair_.steps(low, high, r, both);
        _mm512_storeu_si512(to, to_bf16(both[0], both[1]));
      } else {
        pair_.finish(low, high, r, to);
      }
    }
  }

 private:
  using Numbers = QuantizedColumnNumbers<Sixteens, y, residual>;

  [[gnu::always_inline]] const std::byte* residual_at(std::int64_t at) const {
    return Numbers::has_residual ? product_.residual + at * Numbers::r_size : nullptr;
  }

  // The last channels, which are no whole panel.
  [[gnu::noinline]] void few(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t pixel = block_.pixels[row];
      if (pixel < 0) continue;
      const std::int64_t at = pixel * channels_ + block_.column;
      finish_panels<Sixteens, y, residual>(
          product_.finish,
          {1, block_.column, channels_ - block_.column, sums_ + row * tile_panel, nullptr,
           tile_panel, residual_at(at), product_.y + at * Numbers::y_size, 0});
    }
  }

  const QuantizedTileProduct& product_;
  const std::int32_t* sums_;
  const PixelBlock block_, next_;
  std::int64_t channels_;
  std::byte* y_;
  avx512::QuantizedPair<y, residual, saturates> pair_;
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
