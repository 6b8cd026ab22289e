// SPDX-License-Identifier: Apache-2.0
// Packs blocks of 32 x 32 of a matrix for the tiles of AMX, laid out as in tiles.amx.h: all at
// once, or one after another between the instructions of a multiplication.
#pragma once

#include <cstddef>
#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

// A matrix to pack: `outer` counts rows of A or columns of B, `depth` goes along the contraction.
// Steps are in elements.
struct TileSource {
  DType dtype = DType::bf16;
  std::int64_t outer = 0, depth = 0;
  std::int64_t outer_step = 0, depth_step = 0;

  // Whether values are contiguous along the contraction.
  bool along_depth() const { return depth_step == 1; }
};

// A range of blocks.
struct TileRange {
  std::int64_t outer_begin = 0, outer_end = 0, step_begin = 0, step_end = 0;
  std::int64_t steps() const { return step_end - step_begin; }
};

namespace amx {

enum class TileRole { a, b };

// Packs bf16 into one plane, f32 and f16 into two, hi and lo: x = hi + lo.
class TilePacker {
 public:
  TilePacker(const TileSource& source, TileRole role, std::int64_t planes);

  // Packs block (outer, step) of the matrix at `from`, zeros beyond its edges, into planes of 2 KB.
  void pack(const std::byte* from, std::int64_t outer, std::int64_t step, std::byte* packed);
  void stream_past_caches() { stream_ = true; }
  const std::byte* at(const std::byte* from, std::int64_t outer, std::int64_t step) const;
  bool along_depth() const { return along_depth_; }
  std::int64_t row_step() const { return row_step_; }
  std::int64_t element() const { return element_; }
  std::int64_t planes() const { return planes_; }

 private:
  // Room for 32 rows of 32 values, for blocks that cannot be packed in place.
  struct alignas(64) Stage {
    std::uint16_t high[32][32];
    std::uint16_t low[32][32];
  };

  void split_rows(const std::byte* at, std::byte* packed) const;
  void stage_rows(const std::byte* at, std::int64_t rows, std::int64_t count);
  void stage_scattered(const std::byte* at, std::int64_t outer, std::int64_t depth);
  void stage_row(const std::byte* row, std::uint32_t mask, std::int64_t place);
  void pack_staged(std::byte* packed) const;

  TileSource source_;
  TileRole role_;
  std::int64_t planes_, element_;
  bool along_depth_, contiguous_, stream_ = false;
  std::int64_t row_step_;  // bytes between rows of neighbours
  Stage stage_;
};

// Walks over the cache lines of a range of a matrix, row by row, and prefetches them into L2. Small
// enough to stay in registers: stores between tile loads would slow those down.
struct TileAhead {
  const std::byte *line = nullptr, *row_end = nullptr;
  std::int64_t row_step = 0, gap = 0;  // bytes: between rows, and from the end of one to the next

  [[gnu::always_inline]] void fetch(std::int64_t lines) {
    for (std::int64_t i = 0; i < lines; ++i) {
      __builtin_prefetch(line, 0, 2);
      line += 64;
      if (line < row_end) continue;
      line += gap;
      row_end += row_step;
    }
  }
};

// Packs a range to `packed`[outer][step][plane][2 KB]. Before pack(), ahead() prefetches its lines.
class TileFeed {
 public:
  TileFeed(const TileSource& source, TileRole role, std::int64_t planes)
      : packer_(source, role, planes) {}

  void begin(const std::byte* from, const TileRange& range, std::byte* packed);
  void pack();
  TileAhead& ahead() { return ahead_; }
  std::int64_t lines() const { return lines_; }

 private:
  TilePacker packer_;
  const std::byte* from_ = nullptr;
  std::byte* packed_ = nullptr;
  TileRange range_;
  TileAhead ahead_;
  std::int64_t lines_ = 0;
};

// Packs a range all at once, with `pitch` blocks from one outer block to the next.
void pack_tiles(const TileSource& source, TileRole role, std::int64_t planes, const std::byte* from,
                const TileRange& range, std::byte* packed, std::int64_t pitch);

}  // namespace amx
}  // namespace narrowgauge::cpu
