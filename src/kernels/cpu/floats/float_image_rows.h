// SPDX-License-Identifier: Apache-2.0
// How convolutions of f32 read plain images of few channels: the rows of x under a line of y,
// copied with their padding, and weights in the order of these rows.
#pragma once

#include <algorithm>

#include "kernels/cpu/core/work.h"
#include "kernels/cpu/images/image_window.h"

namespace narrowgauge::cpu {

// One input channel whose taps are all values under the window: a column of the window in all rows
// of x, then the next.
inline View image_taps(const View& w) {
  return {w.dtype,
          {w.dims[0], 1, w.dims[3], w.dims[1], w.dims[2]},
          {w.strides[0], 1, w.strides[3], w.strides[1], w.strides[2]}};
}

class FloatImageRows {
 public:
  FloatImageRows(const ConvolutionViews& views, const ConvolutionWindow& window)
      : window_(views.x, views.w, views.y, window) {}

  const ImageWindow& window() const { return window_; }
  std::int64_t pitch() const { return round_up(window_.row_length(), 16); }
  std::int64_t floats() const { return window_.rows() * pitch(); }

  // Copies the rows under a line of y; lines are counted over all images.
  void copy(const float* x, std::int64_t line, float* rows) const {
    copy(x, line, {0, pitch()}, rows);
  }
  // Copies some columns of these rows, counted from the padding before them.
  void copy(const float* x, std::int64_t line, const Part& columns, float* rows) const {
    const std::int64_t before = window_.padding_before();
    for (std::int64_t i = 0; i < window_.rows(); ++i, rows += pitch()) {
      const std::int64_t from = window_.row_begin(line, i);
      const std::int64_t values = from < 0 ? 0 : window_.values();
      const std::int64_t begin = std::clamp(before, columns.begin, columns.end);
      const std::int64_t end = std::clamp(before + values, begin, columns.end);
      float* to = rows;
      for (std::int64_t column = columns.begin; column < begin; ++column) *to++ = 0.0F;
      to = std::copy_n(x + std::max<std::int64_t>(from, 0) + (begin - before), end - begin, to);
      std::fill(to, rows + (columns.end - columns.begin), 0.0F);
    }
  }

 private:
  ImageWindow window_;
};

}  // namespace narrowgauge::cpu
