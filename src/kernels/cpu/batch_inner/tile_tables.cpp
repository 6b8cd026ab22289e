// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/tile_tables.h"

namespace narrowgauge::cpu {

Epilogue part_of(const Epilogue& whole, std::int64_t offset) {
  Epilogue part = whole;
  const auto move = [offset](float*& sums) {
    if (sums) sums += offset;
  };
  move(part.moments.shift);
  move(part.moments.sum);
  move(part.moments.squares);
  move(part.slopes.sum);
  for (Slopes::Product& product : part.slopes.products) move(product.sum);
  return part;
}

// The places of the source that each place of the result needs, along one axis.
struct TileTables::AxisTaps {
  std::vector<std::vector<RowTap>> of_place;
};

TileTables::AxisTaps TileTables::forward_taps(const BatchInnerConvolution& c, std::size_t axis) {
  const auto& w = c.window;
  AxisTaps taps;
  for (std::int64_t place = 0; place < c.y[axis + 2]; ++place) {
    auto& list = taps.of_place.emplace_back();
    for (std::int64_t tap = 0; tap < c.w[axis + 2]; ++tap) {
      const std::int64_t from =
          place * w.strides[axis] - w.pads_begin[axis] + tap * w.dilations[axis];
      if (from >= 0 && from < c.x[axis + 2])
        list.push_back({static_cast<std::int32_t>(from), static_cast<std::int32_t>(tap)});
    }
  }
  return taps;
}

// The kernel is reversed, so that neighbours stay neighbours.
TileTables::AxisTaps TileTables::backward_taps(const BatchInnerConvolution& c, std::size_t axis) {
  const auto& w = c.window;
  AxisTaps taps;
  for (std::int64_t place = 0; place < c.x[axis + 2]; ++place) {
    auto& list = taps.of_place.emplace_back();
    for (std::int64_t tap = c.w[axis + 2]; tap-- > 0;) {
      const std::int64_t offset = place + w.pads_begin[axis] - tap * w.dilations[axis];
      const std::int64_t from = offset / w.strides[axis];
      if (offset >= 0 && offset % w.strides[axis] == 0 && from < c.y[axis + 2])
        list.push_back(
            {static_cast<std::int32_t>(from), static_cast<std::int32_t>(c.w[axis + 2] - 1 - tap)});
    }
  }
  return taps;
}

TileTables::TileTables(const BatchInnerConvolution& c)
    : backward_(c.pass != ConvolutionPass::forward) {
  plan_.source = batch_inner_images(backward_ ? c.y : c.x, c.image);
  plan_.result = batch_inner_images(backward_ ? c.x : c.y, c.image);
  plan_.kernel_width = c.w[3];
  plan_.taps = c.w[2] * c.w[3];
  set_rows(backward_ ? backward_taps(c, 0) : forward_taps(c, 0));
  set_columns(backward_ ? backward_taps(c, 1) : forward_taps(c, 1));
  for (std::int64_t tap = 0; tap < plan_.taps; ++tap)
    order_.push_back(static_cast<std::int32_t>(backward_ ? plan_.taps - 1 - tap : tap));
  weights_ = {c.w[0], c.w[1], plan_.taps, order_.data(), backward_};
}

TileTables::TileTables(const Dims& images, DType image) : backward_(false) {
  plan_.source = plan_.result = batch_inner_images(images, image);
  plan_.taps = 0;
}

void TileTables::set_rows(const AxisTaps& rows) {
  row_begin_.push_back(0);
  for (const auto& taps : rows.of_place) {
    rows_.insert(rows_.end(), taps.begin(), taps.end());
    row_begin_.push_back(static_cast<std::int32_t>(rows_.size()));
  }
  plan_.row_begin = row_begin_.data();
  plan_.rows = rows_.data();
}

void TileTables::set_columns(const AxisTaps& columns) {
  column_begin_.push_back(0);
  for (const auto& taps : columns.of_place) {
    const std::size_t first = columns_.size();
    for (const RowTap& tap : taps) {
      const bool joins = columns_.size() > first &&
                         columns_.back().source + columns_.back().length == tap.source &&
                         columns_.back().tap + columns_.back().length == tap.tap;
      if (joins)
        ++columns_.back().length;
      else
        columns_.push_back({tap.source, tap.tap, 1});
    }
    column_begin_.push_back(static_cast<std::int32_t>(columns_.size()));
  }
  plan_.column_begin = column_begin_.data();
  plan_.columns = columns_.data();
}

}  // namespace narrowgauge::cpu
