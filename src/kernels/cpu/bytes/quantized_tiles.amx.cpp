// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_tiles.h"

#include "kernels/cpu/bytes/quantized_finish_avx512.h"
#include "kernels/cpu/tiles/byte_tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

using avx512::Sixteens;

// Two tiles of pixels, or one, by a panel.
struct Block {
  const PixelTile* tiles = nullptr;
  std::int64_t tile_count = 0, column = 0;
};

// Finishes the sums of a block a few pixels at a time, and fetches what the next one will need.
template <DType y, QuantizedResidual residual>
class SumsToFinish {
 public:
  SumsToFinish(const QuantizedTileProduct& product, const std::int32_t* sums, const Block& block,
               const Block& next)
      : product_(product), sums_(sums), block_(block), next_(next) {}

  [[gnu::always_inline]] void step(std::int64_t rows) {
    while (rows > 0 && tile_ < block_.tile_count) {
      const std::int64_t left = tile_pixels - row_, now = rows < left ? rows : left;
      rows_of_a_tile(block_.tiles[tile_], row_ + now);
      rows -= now;
      if (row_ < tile_pixels) return;
      row_ = 0;
      ++tile_;
    }
  }
  [[gnu::always_inline]] void rest() { step(2 * tile_pixels); }

 private:
  using Numbers = QuantizedColumnNumbers<Sixteens, y, residual>;

  [[gnu::always_inline]] void rows_of_a_tile(const PixelTile& tile, std::int64_t end) {
    const std::int64_t column = block_.column, channels = product_.channels;
    if (column + tile_panel > channels) return few(tile, end);
    const QuantizedFinish& finish = product_.finish;
    const Numbers low(finish, column), high(finish, column + quantized_panel);
    const __m512i low_offsets = Sixteens::load(finish.offsets + column),
                  high_offsets = Sixteens::load(finish.offsets + column + quantized_panel),
                  zero = _mm512_set1_epi16(static_cast<short>(finish.y_zero));
    std::byte* const y_at = product_.y + column * Numbers::y_size;
    const std::int32_t* sums = sums_ + (tile_ * tile_pixels + row_) * tile_panel;
    const PixelTile& next = next_.tiles[tile_ < next_.tile_count ? tile_ : 0];
    for (; row_ < end; ++row_, sums += tile_panel) {
      if constexpr (residual != QuantizedResidual::none)
        __builtin_prefetch(residual_at(next.pixels[row_] * channels + next_.column));
      const std::int64_t pixel = tile.pixels[row_];
      if (pixel < 0) continue;
      const std::byte* const r = residual_at(pixel * channels + column);
      std::byte* const to = y_at + pixel * channels * Numbers::y_size;
      const __m512 first = low.steps(Sixteens::sub(Sixteens::load(sums), low_offsets), r),
                   second = high.steps(
                       Sixteens::sub(Sixteens::load(sums + quantized_panel), high_offsets),
                       r + quantized_panel * Numbers::r_size);
      if constexpr (y == DType::f32) {
        Sixteens::store(reinterpret_cast<float*>(to), first);
        Sixteens::store(reinterpret_cast<float*>(to) + quantized_panel, second);
      } else {
        avx512::store_bytes<y == DType::u8>(to, first, second, zero);
      }
    }
  }

  [[gnu::always_inline]] const std::byte* residual_at(std::int64_t at) const {
    return residual == QuantizedResidual::none ? nullptr : product_.residual + at * Numbers::r_size;
  }

  // The last channels, which are no whole panel.
  [[gnu::noinline]] void few(const PixelTile& tile, std::int64_t end) {
    const std::int64_t channels = product_.channels;
    for (; row_ < end; ++row_) {
      if (tile.pixels[row_] < 0) continue;
      const std::int64_t at = tile.pixels[row_] * channels + block_.column;
      finish_panels<Sixteens, y, residual>(
          product_.finish, {1, block_.column, channels - block_.column,
                            sums_ + (tile_ * tile_pixels + row_) * tile_panel, nullptr, tile_panel,
                            residual_at(at), product_.y + at * Numbers::y_size, 0});
    }
  }

  const QuantizedTileProduct& product_;
  const std::int32_t* sums_;
  const Block &block_, &next_;
  std::int64_t tile_ = 0, row_ = 0;
};

// Fetches lines into L2 before they are needed.
class Ahead {
 public:
  Ahead() = default;
  Ahead(const std::byte* from, std::int64_t bytes, std::int64_t steps)
      : line_(from), end_(from + bytes), in_step_((bytes / 64 + steps - 1) / steps) {}
  [[gnu::always_inline]] void fetch() {
    for (std::int64_t i = 0; i < in_step_ && line_ < end_; ++i, line_ += 64)
      __builtin_prefetch(line_, 0, 2);
  }

 private:
  const std::byte *line_ = nullptr, *end_ = nullptr;
  std::int64_t in_step_ = 0;
};

template <int form, DType y, QuantizedResidual residual>
class TileProduct {
 public:
  explicit TileProduct(const QuantizedTileProduct& product)
      : p_(product),
        panel_bytes_(product.steps * tile_panel_bytes),
        rows_in_step_((2 * tile_pixels + product.steps - 1) / product.steps) {}

  void run() {
    if (p_.pixel_by_pixel)
      pixel_by_pixel();
    else
      panel_by_panel();
    Pending(p_, sums_[now_], blocks_[now_], blocks_[now_]).rest();
  }

 private:
  using Pending = SumsToFinish<y, residual>;

  void pixel_by_pixel() {
    for (std::int64_t tile = 0; tile < p_.tile_count; tile += 2) {
      Ahead ahead = next_pixels(tile, p_.panel_count * p_.steps);
      for (std::int64_t panel = 0; panel < p_.panel_count; ++panel) one_block(tile, panel, ahead);
    }
  }

  // What the next two tiles read of x, which lies together unless it is copied.
  Ahead next_pixels(std::int64_t tile, std::int64_t steps) const {
    if (p_.copied || tile + 3 >= p_.tile_count) return {};
    return {p_.tiles[tile + 2].a, 2 * tile_pixels * p_.row_bytes, steps};
  }

  void panel_by_panel() {
    const std::int64_t steps = (p_.tile_count + 1) / 2 * p_.steps;
    for (std::int64_t panel = 0; panel < p_.panel_count; ++panel) {
      const bool more = panel + 1 < p_.panel_count;
      Ahead ahead(weights(panel + 1), more ? panel_bytes_ : 0, steps);
      for (std::int64_t tile = 0; tile < p_.tile_count; tile += 2) one_block(tile, panel, ahead);
    }
  }

  const std::byte* weights(std::int64_t panel) const {
    return p_.weights + (p_.first_panel + panel) * panel_bytes_;
  }

  // Multiplies a block while the previous one is finished.
  [[gnu::always_inline]] void one_block(std::int64_t tile, std::int64_t panel, Ahead& ahead) {
    const bool two = tile + 1 < p_.tile_count;
    const int last = now_;
    now_ ^= 1;
    Block& block = blocks_[now_];
    block = {p_.tiles + tile, two ? 2 : 1, (p_.first_panel + panel) * tile_panel};
    zero_sums();
    Pending work(p_, sums_[last], blocks_[last], block);
    if (two)
      multiply<true>(block, weights(panel), work, ahead);
    else
      multiply<false>(block, weights(panel), work, ahead);
    work.rest();
    store_sums(sums_[now_]);
  }

  template <bool two>
  [[gnu::always_inline]] void multiply(const Block& block, const std::byte* b, Pending& work,
                                       Ahead& ahead) const {
    const std::byte* const first = block.tiles[0].a;
    const std::byte* const second = two ? block.tiles[1].a : first;
    for (std::int64_t s = 0; s < p_.steps; ++s, b += tile_panel_bytes) {
      ahead.fetch();
      work.step(rows_in_step_);
      multiply_bytes<form, Reading::reused, two>(
          {first + p_.step_at[s], second + p_.step_at[s], p_.row_bytes}, b);
    }
  }

  const QuantizedTileProduct& p_;
  std::int64_t panel_bytes_, rows_in_step_;
  // The block that is multiplied, and the one before it.
  Block blocks_[2];
  int now_ = 0;
  alignas(64) std::int32_t sums_[2][sums_in_block];
};

template <DType y, QuantizedResidual residual>
void for_signs(const QuantizedTileProduct& product) {
  if (product.x_signed)
    TileProduct<3, y, residual>(product).run();
  else
    TileProduct<1, y, residual>(product).run();
}

template <DType y>
void for_residual(const QuantizedTileProduct& product) {
  if (!product.residual) return for_signs<y, QuantizedResidual::none>(product);
  if (product.finish.residual == DType::f32) return for_signs<y, QuantizedResidual::f32>(product);
  if (product.finish.residual == DType::u8) return for_signs<y, QuantizedResidual::u8>(product);
  return for_signs<y, QuantizedResidual::i8>(product);
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
