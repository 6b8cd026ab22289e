// SPDX-License-Identifier: Apache-2.0
// The loops of a PixelProduct over the tiles of AMX, for every format of pixels. What is left to do
// on a block runs between the products of the next one. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/tiles/tile_cut.h"
#include "kernels/cpu/tiles/tiles.amx.h"

namespace narrowgauge::cpu::amx {

// Two tiles of pixels, or one, by a panel.
struct PixelBlock {
  const PixelTile* tiles = nullptr;
  std::int64_t tile_count = 0, column = 0;
};

// Calls body(row, its pixel, the pixel that the next block has in its place) for rows of a tile
// that are pixels. Most tiles are a run of neighbours, whose addresses are one step apart.
template <class Body>
[[gnu::always_inline]] inline void for_each_row(const PixelTile& now, const PixelTile& next,
                                                std::int64_t begin, std::int64_t end,
                                                const Body& body) {
  if (now.is_run() && next.is_run()) {
    const std::int64_t first = now.pixels[0], first_of_next = next.pixels[0];
    for (std::int64_t row = begin; row < end; ++row) body(row, first + row, first_of_next + row);
    return;
  }
  for (std::int64_t row = begin; row < end; ++row)
    if (now.pixels[row] >= 0) body(row, now.pixels[row], next.pixels[row]);
}

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

// Finishes the rows of a block, a few at a time.
template <class Rows, class Sum>
class PacedRows {
 public:
  PacedRows(const typename Rows::Context& context, const Sum* sums, const PixelBlock& block,
            const PixelBlock& next)
      : rows_(context, sums, block, next), tile_count_(block.tile_count) {}

  [[gnu::always_inline]] void step(std::int64_t rows) {
    while (rows > 0 && tile_ < tile_count_) {
      const std::int64_t left = tile_pixels - row_, now = rows < left ? rows : left;
      rows_.finish(tile_, row_, row_ + now);
      rows -= now;
      row_ += now;
      if (row_ < tile_pixels) return;
      row_ = 0;
      ++tile_;
    }
  }
  [[gnu::always_inline]] void rest() { step(2 * tile_pixels); }

 private:
  Rows rows_;
  std::int64_t tile_count_, tile_ = 0, row_ = 0;
};

// Multiply::step() multiplies two tiles by two of a panel; Rows finishes rows of their sums.
template <class Multiply, class Rows>
class PixelLoop {
 public:
  PixelLoop(const PixelProduct& product, const typename Rows::Context& context)
      : p_(product),
        context_(context),
        panel_bytes_(product.steps * product.step_bytes),
        rows_in_step_((2 * tile_pixels + product.steps - 1) / product.steps) {}

  void run() {
    if (p_.pixel_by_pixel)
      pixel_by_pixel();
    else
      panel_by_panel();
    Work(context_, sums_[now_], blocks_[now_], blocks_[now_]).rest();
  }

 private:
  using Work = PacedRows<Rows, typename Multiply::Sum>;

  // What multiplications fetch meanwhile.
  struct Fetched {
    Ahead weights, pixels;
    [[gnu::always_inline]] void fetch() {
      weights.fetch();
      pixels.fetch();
    }
  };

  void pixel_by_pixel() {
    for (std::int64_t tile = 0; tile < p_.tile_count; tile += 2) {
      Fetched ahead{{}, next_pixels(tile, p_.panel_count * p_.steps)};
      for (std::int64_t panel = 0; panel < p_.panel_count; ++panel) {
        if (tile == 0) ahead.weights = next_weights(panel, p_.steps);
        one_block(tile, panel, ahead);
      }
    }
  }

  void panel_by_panel() {
    const std::int64_t steps = (p_.tile_count + 1) / 2 * p_.steps;
    for (std::int64_t panel = 0; panel < p_.panel_count; ++panel) {
      Fetched ahead{next_weights(panel, steps), {}};
      for (std::int64_t tile = 0; tile < p_.tile_count; tile += 2) {
        if (panel == 0) ahead.pixels = next_pixels(tile, p_.steps);
        one_block(tile, panel, ahead);
      }
    }
  }

  // What the next two tiles read of x, which lies together unless it is copied.
  Ahead next_pixels(std::int64_t tile, std::int64_t steps) const {
    if (p_.copied || tile + 3 >= p_.tile_count) return {};
    return {p_.tiles[tile + 2].a, 2 * tile_pixels * p_.row_bytes, steps};
  }

  Ahead next_weights(std::int64_t panel, std::int64_t steps) const {
    return {weights(panel + 1), panel + 1 < p_.panel_count ? panel_bytes_ : 0, steps};
  }

  const std::byte* weights(std::int64_t panel) const {
    return p_.weights + (p_.first_panel + panel) * panel_bytes_;
  }

  // Multiplies a block while the previous one is finished.
  [[gnu::always_inline]] void one_block(std::int64_t tile, std::int64_t panel, Fetched& ahead) {
    const bool two = tile + 1 < p_.tile_count;
    const int last = now_;
    now_ ^= 1;
    PixelBlock& block = blocks_[now_];
    block = {p_.tiles + tile, two ? 2 : 1, (p_.first_panel + panel) * tile_panel};
    zero_sums();
    Work work(context_, sums_[last], blocks_[last], block);
    if (two)
      multiply<true>(block, weights(panel), work, ahead);
    else
      multiply<false>(block, weights(panel), work, ahead);
    work.rest();
    store_sums(sums_[now_]);
  }

  template <bool two>
  [[gnu::always_inline]] void multiply(const PixelBlock& block, const std::byte* b, Work& work,
                                       Fetched& ahead) const {
    const std::byte* const first = block.tiles[0].a;
    const std::byte* const second = two ? block.tiles[1].a : first;
    for (std::int64_t s = 0; s < p_.steps; ++s, b += p_.step_bytes) {
      ahead.fetch();
      work.step(rows_in_step_);
      Multiply::template step<two>({first + p_.step_at[s], second + p_.step_at[s], p_.row_bytes}, b,
                                   p_.lower_at);
    }
  }

  const PixelProduct& p_;
  const typename Rows::Context& context_;
  std::int64_t panel_bytes_, rows_in_step_;
  // The block that is multiplied, and the one before it.
  PixelBlock blocks_[2];
  int now_ = 0;
  alignas(64) typename Multiply::Sum sums_[2][sums_in_block];
};

}  // namespace narrowgauge::cpu::amx

#endif
