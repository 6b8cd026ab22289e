// SPDX-License-Identifier: Apache-2.0
// How a reduction walks over its axes: in tiles of neighbouring outputs, each the sum of rows that
// are contiguous strips of x, whose columns belong to the tile's outputs in a fixed pattern.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t row_lanes = 16;  // columns of a row-wise sum

// Strides in elements; y_stride is ignored for a reduced axis.
struct ReduceAxis {
  std::int64_t size = 1;
  std::int64_t x_stride = 0;
  std::int64_t y_stride = 0;
  bool reduced = false;
};

class ReduceGrid {
 public:
  explicit ReduceGrid(std::vector<ReduceAxis> axes);

  // `index` is the number of the tile's first output, in the order of the tiles.
  struct Tile {
    std::int64_t x_offset, y_offset, index, outputs, run;
  };
  struct Strip {
    std::int64_t offset, count;
  };

  std::int64_t outputs() const { return outputs_; }
  std::int64_t per_output() const { return per_output_; }  // elements behind each output
  std::int64_t y_stride() const { return y_stride_; }      // between the outputs of a tile
  bool y_is_in_order() const { return y_is_in_order_; }    // output i belongs to y + i

  std::int64_t tiles() const { return tiles_; }
  std::int64_t most_outputs() const { return tile_outputs_; }  // of a tile
  Tile tile(std::int64_t number) const;

  std::int64_t rows() const { return rows_; }  // of a tile
  std::int64_t rows_per_chunk() const { return rows_per_chunk_; }
  std::int64_t chunks() const { return chunks_; }  // of a tile
  std::int64_t grain() const;                      // chunks that are worth a thread's while
  Strip strip(const Tile& tile, std::int64_t row) const;

  // Element e of a strip is added to column e % columns(), which counts for output_of(column).
  std::int64_t columns() const { return columns_; }
  bool is_row_wise() const { return is_row_wise_; }  // columns are lanes of one output
  std::int64_t output_of(std::int64_t column, const Tile& tile) const {
    return column / fold_ % tile.outputs;
  }

 private:
  void choose_row(const ReduceAxis& inner);
  void choose_folded_row(const ReduceAxis& inner);
  void choose_columns(const ReduceAxis& inner);
  void place_outputs();

  std::vector<ReduceAxis> kept_, reduced_;  // around the tiles
  std::int64_t outputs_ = 1, per_output_ = 1;
  std::int64_t axis_outputs_ = 1;  // of the axis that is cut into tiles
  std::int64_t x_stride_ = 0, y_stride_ = 0;
  std::int64_t axis_tiles_ = 1, tile_outputs_ = 1, tiles_ = 1;
  std::int64_t run_ = 1;    // contiguous elements of a full tile in a row
  std::int64_t strip_ = 1;  // a run is cut into strips
  std::int64_t steps_ = 1;  // strips of a run
  std::int64_t columns_ = 1, fold_ = 1;
  std::int64_t rows_ = 1, rows_per_chunk_ = 1, chunks_ = 1;
  bool is_row_wise_ = false, y_is_in_order_ = false;
};

}  // namespace narrowgauge::cpu
