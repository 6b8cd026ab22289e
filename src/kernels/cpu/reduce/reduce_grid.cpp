// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reduce/reduce_grid.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t chunk_elements = 32768;
constexpr std::int64_t most_chunks = 64;   // of a tile: bounds the partial sums
constexpr std::int64_t shortest_row = 64;  // elements that are worth a row-wise sum

// The axes in memory order, unit stride last; contiguous neighbours of one kind are merged.
std::vector<ReduceAxis> simplify(std::vector<ReduceAxis> axes) {
  std::erase_if(axes, [](const ReduceAxis& axis) { return axis.size == 1; });
  std::stable_sort(axes.begin(), axes.end(), [](const ReduceAxis& a, const ReduceAxis& b) {
    if ((a.x_stride == 1) != (b.x_stride == 1)) return b.x_stride == 1;
    return std::abs(a.x_stride) > std::abs(b.x_stride);
  });
  std::vector<ReduceAxis> merged;
  for (const ReduceAxis& axis : axes) {
    if (!merged.empty()) {
      ReduceAxis& outer = merged.back();
      const bool together = outer.reduced == axis.reduced &&
                            outer.x_stride == axis.size * axis.x_stride &&
                            (axis.reduced || outer.y_stride == axis.size * axis.y_stride);
      if (together) {
        outer = {outer.size * axis.size, axis.x_stride, axis.y_stride, axis.reduced};
        continue;
      }
    }
    merged.push_back(axis);
  }
  if (merged.empty() || merged.back().x_stride != 1) merged.push_back({1, 1, 1, false});
  return merged;
}

// Takes the axis with this x_stride out of the list; size 0 if there is none.
ReduceAxis take_axis(std::vector<ReduceAxis>& axes, std::int64_t stride) {
  const auto found = std::find_if(axes.begin(), axes.end(),
                                  [&](const ReduceAxis& axis) { return axis.x_stride == stride; });
  if (found == axes.end()) return {0, 0, 0, false};
  const ReduceAxis axis = *found;
  axes.erase(found);
  return axis;
}

std::int64_t count(const std::vector<ReduceAxis>& axes) {
  std::int64_t product = 1;
  for (const ReduceAxis& axis : axes) product *= axis.size;
  return product;
}

}  // namespace

ReduceGrid::ReduceGrid(std::vector<ReduceAxis> axes) {
  for (ReduceAxis& axis : axes) {
    (axis.reduced ? per_output_ : outputs_) *= axis.size;
    if (axis.size == 0 && axis.reduced) axis.size = 1;  // nothing is read: rows_ becomes 0
  }
  if (outputs_ == 0) return;
  axes = simplify(std::move(axes));
  const ReduceAxis inner = axes.back();
  axes.pop_back();
  for (const ReduceAxis& axis : axes) (axis.reduced ? reduced_ : kept_).push_back(axis);
  if (!inner.reduced)
    choose_columns(inner);
  else if (inner.size >= shortest_row)
    choose_row(inner);
  else
    choose_folded_row(inner);
  axis_tiles_ = ceil_divide(axis_outputs_, tile_outputs_);
  tiles_ = axis_tiles_ * count(kept_);
  steps_ = ceil_divide(run_, strip_);
  rows_ = per_output_ == 0 ? 0 : count(reduced_) * steps_;
  rows_per_chunk_ = std::max(ceil_divide(chunk_elements, strip_), ceil_divide(rows_, most_chunks));
  chunks_ = std::max<std::int64_t>(1, ceil_divide(rows_, rows_per_chunk_));
  place_outputs();
}

void ReduceGrid::choose_row(const ReduceAxis& inner) {
  is_row_wise_ = true;
  run_ = inner.size;
  strip_ = std::min(run_, strip_length);
  columns_ = fold_ = row_lanes;
}

// Short rows: several rows of neighbouring outputs make a strip.
void ReduceGrid::choose_folded_row(const ReduceAxis& inner) {
  fold_ = inner.size;
  const ReduceAxis neighbour = take_axis(kept_, inner.size);
  if (neighbour.size > 0) {
    axis_outputs_ = neighbour.size;
    x_stride_ = neighbour.x_stride;
    y_stride_ = neighbour.y_stride;
  }
  tile_outputs_ = std::min(axis_outputs_, strip_length / inner.size);
  run_ = strip_ = columns_ = tile_outputs_ * inner.size;
}

void ReduceGrid::choose_columns(const ReduceAxis& inner) {
  axis_outputs_ = inner.size;
  x_stride_ = inner.x_stride;
  y_stride_ = inner.y_stride;
  tile_outputs_ = std::min(inner.size, strip_length);
  run_ = strip_ = columns_ = tile_outputs_;
  if (2 * inner.size > strip_length) return;
  const ReduceAxis neighbour = take_axis(reduced_, inner.size);  // several rows make a strip
  if (neighbour.size == 0) return;
  run_ = neighbour.size * inner.size;
  strip_ = columns_ = std::min(run_, strip_length / inner.size * inner.size);
}

void ReduceGrid::place_outputs() {
  std::int64_t stride = axis_outputs_;
  y_is_in_order_ = axis_outputs_ == 1 || y_stride_ == 1;
  for (auto axis = kept_.rbegin(); axis != kept_.rend(); ++axis) {
    y_is_in_order_ = y_is_in_order_ && axis->y_stride == stride;
    stride *= axis->size;
  }
}

std::int64_t ReduceGrid::grain() const {
  const std::int64_t elements =
      std::min(rows_per_chunk_, std::max<std::int64_t>(1, rows_)) * strip_;
  return std::max<std::int64_t>(1, chunk_elements / elements);
}

ReduceGrid::Tile ReduceGrid::tile(std::int64_t number) const {
  const std::int64_t first = number % axis_tiles_ * tile_outputs_;
  std::int64_t rest = number / axis_tiles_;
  Tile tile{first * x_stride_, first * y_stride_, rest * axis_outputs_ + first,
            std::min(tile_outputs_, axis_outputs_ - first), run_};
  if (axis_tiles_ > 1) tile.run = run_ / tile_outputs_ * tile.outputs;
  for (auto axis = kept_.rbegin(); axis != kept_.rend(); ++axis) {
    tile.x_offset += rest % axis->size * axis->x_stride;
    tile.y_offset += rest % axis->size * axis->y_stride;
    rest /= axis->size;
  }
  return tile;
}

ReduceGrid::Strip ReduceGrid::strip(const Tile& tile, std::int64_t row) const {
  const std::int64_t begin = row % steps_ * strip_;
  Strip strip{tile.x_offset + begin, std::min(strip_, tile.run - begin)};
  std::int64_t rest = row / steps_;
  for (auto axis = reduced_.rbegin(); rest > 0; ++axis) {
    strip.offset += rest % axis->size * axis->x_stride;
    rest /= axis->size;
  }
  return strip;
}

}  // namespace narrowgauge::cpu
