// SPDX-License-Identifier: Apache-2.0
// How a matrix product is cut for the tiles of AMX, and the parts that use AMX instructions.
//
// A piece of the result, row_blocks x column_blocks, is computed by one thread. Its rows of A are
// packed `chunk` blocks of the contraction at a time and stay in L2; a panel of B, 32 columns wide
// and `run` blocks deep, stays in L1 while the rows of A stream past. What comes next is packed
// meanwhile, between the tile instructions, where its loads and shuffles cost next to nothing. Sums
// over several runs are added in f32, in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/threads/parallel.h"
#include "kernels/cpu/tiles/tile_gemm.h"
#include "kernels/cpu/tiles/tile_packer.h"

namespace narrowgauge::cpu {

struct TileResult {
  DType dtype = DType::bf16;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_step = 0;  // elements
};

struct TileGemmPlan {
  TileSource a, b;
  TileResult y;
  std::int64_t planes = 1;  // 1: bf16; 2: hi and lo
  std::int64_t steps = 0;   // blocks along the contraction
  std::int64_t row_blocks = 0, column_blocks = 0, chunk = 0, run = 0;
  TileActivation activation = TileActivation::none;
  // Whether all of A or B is packed before the pieces; otherwise each piece packs its part.
  bool shared_a = false, shared_b = false;

  std::int64_t step_bytes() const { return planes * 2048; }
  bool one_chunk() const { return chunk == steps; }
  // The byte offset in a packed matrix of `outers` outer blocks at which block `outer` has its
  // steps from `first` on. It is packed chunk by chunk, so that a piece reads consecutive memory.
  std::int64_t packed_at(std::int64_t outers, std::int64_t outer, std::int64_t first) const {
    const std::int64_t begin = first / chunk * chunk;
    const std::int64_t in_chunk = steps - begin < chunk ? steps - begin : chunk;
    return (begin * outers + outer * in_chunk + first - begin) * step_bytes();
  }
  std::int64_t padded_columns() const { return (y.columns + 31) / 32 * 32; }
};

// The working memory of one thread.
struct TileBuffers {
  std::byte* a;  // row_blocks x chunk steps, unless shared_a
  std::byte* b;  // run steps of one panel, unless shared_b
  float* sums;   // row_blocks blocks of 32 x 32 f32; times column_blocks unless one_chunk()
};

// Blocks [row, row + row_count) x [column, column + column_count) of one matrix.
struct TileGemmPiece {
  const std::byte *a, *b;                // the matrices
  const std::byte *shared_a, *shared_b;  // all of them packed
  std::byte* y;
  std::byte* beside;  // of an activation: its arguments, lying as y does
  float* sums;        // [row blocks][padded columns]: sums of the results, where they are wanted
  const float* bias;  // one value for each column, padded to whole blocks
  std::int64_t row, row_count, column, column_count;
  bool stream;  // past the caches
};

namespace amx {

// Computes pieces until next(piece) returns false. Returns how many nonzero results became zero in
// f16.
std::int64_t multiply_pieces(const TileGemmPlan& plan, const TileBuffers& buffers,
                             FunctionRef<bool(TileGemmPiece&)> next);

}  // namespace amx
}  // namespace narrowgauge::cpu
