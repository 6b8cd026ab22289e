// SPDX-License-Identifier: Apache-2.0
// What softmax, log-softmax and cross entropy share: the walk over an axis in tiles, and the
// largest value and sum of exponentials of each column.
#pragma once

#include <algorithm>
#include <array>

#include "base/threads/parallel.h"
#include "kernels/cpu/normalization/softmax.h"

namespace narrowgauge::cpu {

// Up to strip_length neighbouring columns of one outer slice; its rows are positions on the axis.
struct AxisTile {
  std::int64_t offset;  // of position 0 on the axis, first column
  std::int64_t first;   // index into arrays of [outer, inner]
  std::int64_t width;
};

// Runs body(tile) over all tiles, several to a piece if they are small.
template <class Body>
void for_axis_tiles(const AxisLayout& layout, const Body& body) {
  if (layout.size() == 0) return;
  const std::int64_t tiles = ceil_divide(layout.inner, strip_length);
  const std::int64_t elements = layout.axis * std::min(layout.inner, strip_length);
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / elements);
  parallel_for(layout.outer * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t number = begin; number < end; ++number) {
      const std::int64_t outer = number / tiles, first = number % tiles * strip_length;
      body(AxisTile{outer * layout.axis * layout.inner + first, outer * layout.inner + first,
                    std::min(strip_length, layout.inner - first)});
    }
  });
}

// A contiguous part of a tile, at most strip_length elements: one row, or several if the tile has
// the whole inner range. Columns repeat after `width` elements.
struct AxisPiece {
  std::int64_t offset, position, rows, width;
  std::int64_t count() const { return rows * width; }
};

template <class Body>
void for_pieces(const AxisLayout& layout, const AxisTile& tile, const Body& body) {
  const std::int64_t at_once = tile.width == layout.inner ? strip_length / tile.width : 1;
  for (std::int64_t a = 0; a < layout.axis; a += at_once)
    body(AxisPiece{tile.offset + a * layout.inner, a, std::min(at_once, layout.axis - a),
                   tile.width});
}

// Calls function(first) for the rows of a piece.
template <class Function>
void for_rows(const AxisPiece& piece, const Function& function) {
  for (std::int64_t first = 0; first < piece.count(); first += piece.width) function(first);
}

// Calls function(element, column) for the elements of a piece, in loops that vectorize.
template <class Function>
void for_elements(const AxisPiece& piece, const Function& function) {
  if (piece.width == 1) {
#pragma GCC ivdep
    for (std::int64_t e = 0; e < piece.rows; ++e) function(e, 0);
    return;
  }
  for_rows(piece, [&](std::int64_t first) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < piece.width; ++j) function(first + j, j);
  });
}

// softmax = exp(x - largest) / sum and log_softmax = x - largest - log_sum, per column of a tile.
struct Normalizers {
  alignas(64) std::array<float, strip_length> largest, reciprocal, log_sum;
};
enum class Wanted : std::uint8_t { reciprocal, log_sum };
void find_normalizers(const AxisLayout& layout, const AxisTile& tile, ConstArray x, Wanted wanted,
                      Normalizers& normalizers);

// y = exp(x - shift) * factor, with a shift and a factor for each column.
void exponentials(const AxisPiece& piece, const float* x, const float* shift, const float* factor,
                  float* y);

}  // namespace narrowgauge::cpu
