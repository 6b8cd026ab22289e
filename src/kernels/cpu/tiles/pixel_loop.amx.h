// SPDX-License-Identifier: Apache-2.0
// The loops of a PixelProduct over the tiles of AMX, for every format of pixels. What is left to do
// on a block runs between the products of the next one. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/amx/tiles.amx.h"
#include "kernels/cpu/tiles/tile_cut.h"

namespace narrowgauge::cpu::amx {

// Two tiles of pixels, or one, by a panel.
struct PixelBlock {
  const std::int32_t* pixels = nullptr;  // of its rows, in their order
  std::int64_t rows = 0, column = 0;

  // Whether the pixels are neighbours.
  [[gnu::always_inline]] bool is_run() const {
    return rows > 0 && pixels[0] >= 0 && pixels[rows - 1] == pixels[0] + rows - 1;
  }
};

// The rows of a block, and those that the next block has in their places. Most blocks are a run of
// neighbours, whose addresses are one step apart.
class BlockRows {
 public:
  BlockRows(const PixelBlock& block, const PixelBlock& next)
      : block_(block),
        next_(next),
        runs_(block.is_run() && next.is_run() && next.rows >= block.rows) {}

  std::int64_t pixel(std::int64_t row) const { return block_.pixels[row]; }
  std::int64_t next_pixel(std::int64_t row) const {
    return next_.pixels[row < next_.rows ? row : 0];
  }
  // Calls two(row, its pixel, the next block's pixel) for rows whose neighbours are meant as well,
  // and one() for others that are pixels.
  template <class Two, class One>
  [[gnu::always_inline]] void each(std::int64_t begin, std::int64_t end, const Two& two,
                                   const One& one) const {
    if (begin >= end) return;
    if (runs_) {
      const std::int64_t first = block_.pixels[0], first_of_next = next_.pixels[0];
      for (; begin + 2 <= end; begin += 2) two(begin, first + begin, first_of_next + begin);
    }
    for (; begin < end; ++begin) {
      const std::int64_t here = pixel(begin);
      if (here < 0) continue;
      if (begin + 1 < end && pixel(begin + 1) == here + 1) {
        two(begin, here, next_pixel(begin));
        ++begin;
      } else {
        one(begin, here, next_pixel(begin));
      }
    }
  }

 private:
  const PixelBlock block_, next_;
  bool runs_;
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

// Finishes the rows of a block, a few at a time. What all rows need is in Rows, which is made once
// for a block.
template <class Rows, class Sum>
class PacedRows {
 public:
  PacedRows(const typename Rows::Context& context, const Sum* sums, const PixelBlock& block,
            const PixelBlock& next)
      : rows_(context, sums, block, next), count_(block.rows) {}

  [[gnu::always_inline]] void step(std::int64_t rows) {
    const std::int64_t left = count_ - row_, end = row_ + (rows < left ? rows : left);
    rows_.finish(row_, end);
    row_ = end;
  }
  [[gnu::always_inline]] void rest() { step(count_); }

 private:
  Rows rows_;
  std::int64_t count_, row_ = 0;
};

// Multiply::step() multiplies two tiles by two of a panel; Rows begins their sums and finishes rows
// of them.
template <class Multiply, class Rows>
class PixelLoop {
 public:
  PixelLoop(const PixelProduct& product, const typename Rows::Context& context,
            Multiply multiply = {})
      : p_(product),
        context_(context),
        multiply_(multiply),
        panel_bytes_(product.steps * product.step_bytes),
        rows_in_step_(rows_in_step(product.cut.run)) {}

  void run() {
    Unfinished last{{}, sums_[0]};
    if (p_.pixel_by_pixel)
      pixel_by_pixel(last);
    else
      panel_by_panel(last);
    Work(context_, last.sums, last.block, last.block).rest();
  }

 private:
  using Sum = typename Multiply::Sum;
  using Work = PacedRows<Rows, Sum>;

  // A block whose sums are stored, but not finished.
  struct Unfinished {
    PixelBlock block;
    Sum* sums;
  };

  // An even number; some rows are left for the time in which the next sums are stored.
  static std::int64_t rows_in_step(std::int64_t steps) {
    const std::int64_t rows = (2 * tile_pixels + steps) / (steps + 1) / 2 * 2;
    return rows > 2 ? rows : 2;
  }

  // Steps of a panel that are multiplied one after the other.
  struct Run {
    std::int64_t panel, first, count;
  };

  // What is prefetched between multiplications.
  struct Fetched {
    Ahead weights, pixels;
    [[gnu::always_inline]] void fetch() {
      weights.fetch();
      pixels.fetch();
    }
  };

  void pixel_by_pixel(Unfinished& last) {
    for (std::int64_t tile = 0; tile < p_.tile_count; tile += 2) {
      Fetched ahead{{}, next_pixels(tile, p_.panel_count * p_.steps)};
      for (std::int64_t panel = 0; panel < p_.panel_count; ++panel) {
        const Run run{panel, 0, p_.steps};
        if (tile == 0 && panel + 1 < p_.panel_count)
          ahead.weights = next_weights({panel + 1, 0, p_.steps}, p_.steps);
        one_block<Reading::reused>(tile, run, ahead, last);
      }
    }
  }

  // What the next two tiles read of x, which lies together unless it is copied.
  Ahead next_pixels(std::int64_t tile, std::int64_t steps) const {
    if (p_.copied || tile + 3 >= p_.tile_count) return {};
    return {p_.tiles.a[tile + 2], 2 * tile_pixels * p_.row_bytes, steps};
  }

  void panel_by_panel(Unfinished& last) {
    const std::int64_t pairs = (p_.tile_count + 1) / 2;
    for (Run run = run_at(0, 0), next; run.count > 0; run = next) {
      next = run_after(run);
      Fetched ahead{next_weights(next, pairs * run.count), {}};
      const bool stays =
          !p_.copied && run.count * p_.step_bytes <= most_run_bytes && pairs * 2 >= least_run_tiles;
      for (std::int64_t tile = 0; tile < p_.tile_count; tile += 2) {
        if (run.panel == 0 && run.first == 0) ahead.pixels = next_pixels(tile, run.count);
        stays ? one_block<Reading::streamed>(tile, run, ahead, last)
              : one_block<Reading::reused>(tile, run, ahead, last);
      }
    }
  }

  // The run that begins with a step; none behind the last one.
  Run run_at(std::int64_t panel, std::int64_t first) const {
    const std::int64_t end = end_of_chunk(first), left = end - first;
    return {panel, first, p_.cut.run < left ? p_.cut.run : left};
  }
  Run run_after(const Run& run) const {
    const std::int64_t end = run.first + run.count;
    if (end < end_of_chunk(run.first)) return run_at(run.panel, end);
    if (run.panel + 1 == p_.panel_count) return run_at(0, end);
    return run_at(run.panel + 1, run.first - run.first % p_.cut.chunk);
  }
  std::int64_t end_of_chunk(std::int64_t step) const {
    const std::int64_t end = step - step % p_.cut.chunk + p_.cut.chunk;
    return end < p_.steps ? end : p_.steps;
  }

  Ahead next_weights(const Run& next, std::int64_t steps) const {
    return {weights(next), next.count * p_.step_bytes, steps};
  }

  const std::byte* weights(const Run& run) const {
    return p_.weights + (p_.first_panel + run.panel) * panel_bytes_ + run.first * p_.step_bytes;
  }
  // What the sums of two tiles come to before their last run.
  Sum* partial(std::int64_t tile, std::int64_t panel) const {
    const std::int64_t before = p_.cut.chunk < p_.steps ? panel * ((p_.tile_count + 1) / 2) : 0;
    return static_cast<Sum*>(p_.partial) + (before + tile / 2) * sums_in_block;
  }

  // Multiplies a block while the last one is finished.
  template <Reading reading>
  [[gnu::always_inline]] void one_block(std::int64_t tile, const Run& run, Fetched& ahead,
                                        Unfinished& last) {
    const bool two = tile + 1 < p_.tile_count;
    const PixelBlock block{p_.tiles.pixels + tile * tile_pixels, (two ? 2 : 1) * tile_pixels,
                           (p_.first_panel + run.panel) * tile_panel};
    if (run.first > 0)
      load_sums(partial(tile, run.panel));
    else
      Rows::begin(context_, block.column);
    Work work(context_, last.sums, last.block, block);
    if (two)
      multiply<true, reading>(tile, run, work, ahead);
    else
      multiply<false, reading>(tile, run, work, ahead);
    const bool whole = run.first + run.count == p_.steps;
    Sum* const sums = !whole                  ? partial(tile, run.panel)
                      : last.sums == sums_[0] ? sums_[1]
                                              : sums_[0];
    store_sums(sums);
    work.rest();
    if (whole)
      last = {block, sums};
    else
      last.block.rows = 0;
  }

  static void load_sums(const Sum* from) {
    _tile_loadd(0, from, 128);
    _tile_loadd(1, from + 16, 128);
    _tile_loadd(2, from + 16 * tile_panel, 128);
    _tile_loadd(3, from + 16 * tile_panel + 16, 128);
  }

  // Two loops, as one that chooses where it reads is slower.
  template <bool two, Reading reading>
  [[gnu::always_inline]] void multiply(std::int64_t tile, const Run& run, Work& work,
                                       Fetched& ahead) const {
    const std::byte* b = weights(run);
    const std::int64_t end = run.first + run.count;
    std::int64_t at = (tile * p_.cut.chunk + 2 * (run.first % p_.cut.chunk)) * tile_bytes;
    if (reading == Reading::streamed && p_.stored && run.panel > 0) {
      for (std::int64_t s = run.first; s < end; ++s, b += p_.step_bytes, at += 2 * tile_bytes) {
        std::byte* const stored = p_.stored + at;
        multiply_.template step<two, reading>({stored, stored + tile_bytes, tile_step_bytes}, b,
                                              p_.lower_at);
        ahead.fetch();
        work.step(rows_in_step_);
      }
      return;
    }
    const std::byte* const first = p_.tiles.a[tile];
    const std::byte* const second = two ? p_.tiles.a[tile + 1] : first;
    for (std::int64_t s = run.first; s < end; ++s, b += p_.step_bytes, at += 2 * tile_bytes) {
      multiply_.template step<two, reading>(
          {first + p_.step_at[s], second + p_.step_at[s], p_.row_bytes}, b, p_.lower_at);
      if (reading == Reading::streamed && p_.stored)
        store_tiles_of_a<two>(p_.stored + at, p_.stored + at + tile_bytes);
      ahead.fetch();
      work.step(rows_in_step_);
    }
  }

  const PixelProduct& p_;
  const typename Rows::Context& context_;
  const Multiply multiply_;
  std::int64_t panel_bytes_, rows_in_step_;
  // Sums of the block that is multiplied, and of the one before it.
  alignas(64) typename Multiply::Sum sums_[2][sums_in_block];
};

}  // namespace narrowgauge::cpu::amx

#endif
