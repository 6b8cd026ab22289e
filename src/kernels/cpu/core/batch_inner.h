// SPDX-License-Identifier: Apache-2.0
// Images in batch-inner blocks, [N/32][y][x][C/32][32 images][32 channels]: in bf16 each block of 2
// KB is two AMX tiles, so convolutions read and write it without packing. Also the tables that tell
// the tile kernels which blocks meet. N and C are multiples of 32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t block_bytes = 2048;  // of 32 x 32 bf16
inline constexpr std::int64_t sums_bytes = 4096;   // of 32 x 32 f32

struct BatchInnerImages {
  std::int64_t groups = 1;  // of 32 images
  std::int64_t height = 1, width = 1;
  std::int64_t blocks = 1;  // of 32 channels
  DType dtype = DType::bf16;

  // Whether tiles multiply two parts of each value (split.h), as of f32 and f16.
  bool is_split() const { return dtype != DType::bf16; }
  std::int64_t bytes_in_block() const { return bytes_for(32 * 32, dtype); }
  std::int64_t row_blocks() const { return width * blocks; }
  std::int64_t count() const { return groups * height * row_blocks(); }
  std::int64_t row(std::int64_t group, std::int64_t y) const {
    return (group * height + y) * row_blocks();
  }
};

// A row of the source that a row of the result sees, and the kernel's row between them.
struct RowTap {
  std::int32_t source, tap;
};
// Neighbouring columns of the source under neighbouring columns of the kernel.
struct ColumnRun {
  std::int32_t source, tap, length;
};

// Each block of the result is a sum over taps of source blocks times weights [result's
// block][tap][source's block]. Both the forward convolution and its data gradient have this form.
struct TilePlan {
  BatchInnerImages source, result;
  std::int64_t taps = 1, kernel_width = 1;
  const std::int32_t* row_begin = nullptr;  // [height + 1] into `rows`, of the result
  const RowTap* rows = nullptr;
  const std::int32_t* column_begin = nullptr;  // [width + 1] into `columns`
  const ColumnRun* columns = nullptr;
};

// Moments per channel of the values that a piece stores, each minus `shift`, the first of them.
struct PieceMoments {
  float *shift = nullptr, *sum = nullptr, *squares = nullptr;
};

// The gradient of a Relu (and of an addition before it), computed before storing: adds the blocks
// of `other`, and is zero where those of `kept`, the Relu's result, are not positive; either may be
// null. If `factor` is given, the Relu's input is computed again as (x - mean) * factor + constant
// from the first product. If `sum` is given, sums what is stored, per channel: itself, and times x
// - mean for each of `count` images x.
struct Slopes {
  static constexpr int most = 2;
  struct Product {
    const std::byte* x;
    const float* mean;
    float* sum;
  };
  const std::byte *other = nullptr, *kept = nullptr;
  const float *factor = nullptr, *constant = nullptr;
  float* sum = nullptr;
  Product products[most]{};
  int count = 0;
};

// The epilogue of blocks, between summing and storing, beside bias and rounding.
struct Epilogue {
  enum class Kind { plain, relu, moments, slopes } kind = Kind::plain;
  PieceMoments moments{};
  Slopes slopes{};
};

// The places [row_begin, row_end) x [column_begin, column_end); rows count over all groups.
struct Patch {
  std::int64_t row_begin, row_end, column_begin, column_end;
  std::int64_t pixels() const { return (row_end - row_begin) * (column_end - column_begin); }
};

// Columns [first_column, first_column + columns) of source rows, split (split.h) into blocks; row y
// of a group is in slot y % slots.
struct SplitRows {
  std::byte* blocks = nullptr;
  std::int64_t slots = 1, first_column = 0, columns = 0;
};

// A part of the result: a patch, and some of its blocks. f32 and f16 images are multiplied from
// `split`, bf16 images from `source`.
struct TilePiece {
  const std::byte *source, *weights;
  std::byte* result;
  const float* bias;  // of all channels of the result
  Patch patch;
  std::int64_t block_begin, block_end;
  bool pixel_by_pixel;  // all blocks of a pixel, then the next pixel; else block by block
  bool stream;          // past the caches: the result is larger than they are
  Epilogue epilogue{};
  SplitRows split{};
  bool begins = true;               // the epilogue's sums begin with this piece, or go on
  std::int64_t* flushed = nullptr;  // grows by what was not zero in f32 and became zero in f16
};

// A tap of the weight gradient: output places [begin, end) along an axis see x through it, the
// first one at `source`.
struct TapRange {
  std::int32_t begin, end, source;
};

// dw = sum over pixels of x (transposed) times dy: an f32 block [32][32] for each pair of channel
// blocks [b][tap][a]; `a` is the operand packed transposed, `b` the other one.
struct WeightGradientPlan {
  BatchInnerImages x, y;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_height = 1, stride_width = 1;
  const TapRange *rows = nullptr, *columns = nullptr;  // one for each row and column of the kernel
  bool transpose_x = true;                             // a is x; else dy

  std::int64_t taps() const { return kernel_height * kernel_width; }
  std::int64_t a_blocks() const { return transpose_x ? x.blocks : y.blocks; }
  std::int64_t b_blocks() const { return transpose_x ? y.blocks : x.blocks; }
};

// Packed rows: [channel block][slot][x], row r in slot r % slots.
struct PackedRows {
  std::byte* blocks;
  std::int64_t slots;
};

// Rows [row_begin, row_end) of y in one group, for blocks [b_begin, b_end): adds to the sums or
// sets them. `near`: the packed rows and the sums of one block of b fit into L2.
struct WeightGradientPiece {
  PackedRows x, y;
  float* sums;
  std::int64_t row_begin, row_end, b_begin, b_end;
  bool add, near;
};

namespace amx {

void convolve(const TilePlan& plan, const TilePiece& piece);
// Runs the epilogue alone: the source, laid out as the result, takes the place of the sums.
void pass_on(const TilePlan& plan, const TilePiece& piece);
void weight_gradient(const WeightGradientPlan& plan, const WeightGradientPiece& piece);
// Packs `width` pixels of a row of blocks, `column_step` apart, into rows of `pitch`. The
// contraction is along the images, as A (transposed) or as B.
struct RowPacking {
  std::int64_t width, pitch, blocks, column_step;
  bool transposed;
};
void pack_row(const std::byte* row, const RowPacking& packing, std::int64_t slot,
              const PackedRows& packed);
// Packs weights bf16 [M][C][taps] into blocks of B: [m][tap'][c] that multiply channels of C
// (forward), or [c][tap'][m] that multiply channels of M (`backward`); tap' = order[tap]. Does
// outer blocks [begin, end).
struct WeightBlocks {
  std::int64_t outputs, inputs, taps;
  const std::int32_t* order;
  bool backward;
};
void pack_weights(const std::byte* weights, const WeightBlocks& blocks, std::int64_t begin,
                  std::int64_t end, std::byte* packed);

}  // namespace amx
}  // namespace narrowgauge::cpu
