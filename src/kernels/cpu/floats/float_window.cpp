// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_window.h"

#include <algorithm>

#include "kernels/cpu/floats/float_rows.h"

namespace narrowgauge::cpu {

FloatWindow::FloatWindow(const View& x, const Dims& w, const Dims& y,
                         const ConvolutionWindow& window)
    : image_stride_(x.strides[0]),
      depth_(w[1]),
      rows_(element_count(y) / y[1]),
      taps_(element_count(w) / (w[0] * w[1])) {
  const std::size_t spatial = x.dims.size() - 2;
  is_dense_ = taps_ == 1 && is_channels_last(x);
  for (std::size_t i = 0; i < spatial; ++i)
    is_dense_ = is_dense_ && x.dims[i + 2] == y[i + 2] && window.pads_begin[i] == 0;
  for (std::size_t i = 0; i < spatial; ++i) {
    Axis& axis = axes_[3 - spatial + i];
    axis = {y[i + 2], w[i + 2], {}, {}};
    const auto offset = [&](std::int64_t place, std::int64_t tap) {
      const std::int64_t at =
          place * window.strides[i] - window.pads_begin[i] + tap * window.dilations[i];
      return at < 0 || at >= x.dims[i + 2] ? -1 : at * x.strides[i + 2];
    };
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap)
      for (std::int64_t place = 0; place < axis.size; ++place)
        axis.offsets.push_back(offset(place, tap));
    for (std::int64_t place = 0; place < axis.size; ++place) {
      const std::int64_t last = place * window.strides[i] - window.pads_begin[i] +
                                (axis.kernel - 1) * window.dilations[i];
      axis.last.push_back(std::clamp<std::int64_t>(last, 0, x.dims[i + 2] - 1) * x.strides[i + 2]);
    }
  }
}

std::int64_t FloatWindow::reach(std::int64_t rows) const {
  if (rows == 0) return 0;
  const auto& [z_axis, y_axis, x_axis] = axes_;
  const std::int64_t line = (rows - 1) / x_axis.size, slice = line / y_axis.size;
  return slice / z_axis.size * image_stride_ +
         z_axis.last[static_cast<std::size_t>(slice % z_axis.size)] +
         y_axis.last[static_cast<std::size_t>(line % y_axis.size)] +
         x_axis.last[static_cast<std::size_t>((rows - 1) % x_axis.size)] + depth_;
}

void FloatWindow::locate_run(const float* image, const std::array<std::int64_t, 3>& place,
                             std::int64_t count, const float* zeros, const float** pointers) const {
  const auto& [z, y, x] = axes_;
  for (std::int64_t kz = 0; kz < z.kernel; ++kz)
    for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
      const std::int64_t at_z = z.at(kz, place[0])[0], at_y = y.at(ky, place[1])[0];
      const bool outside = (at_z | at_y) < 0;
      const float* const line = outside ? image : image + at_z + at_y;
      for (std::int64_t kx = 0; kx < x.kernel; ++kx, pointers += float_block_rows) {
        const std::int64_t* const at_x = x.at(kx, place[2]);
        for (std::int64_t r = 0; r < count; ++r)
          pointers[r] = outside || at_x[r] < 0 ? zeros : line + at_x[r];
      }
    }
}

void FloatWindow::locate(const float* x, const float* zeros, std::int64_t first, std::int64_t count,
                         const float** pointers) const {
  if (is_dense_) {
    for (std::int64_t r = 0; r < count; ++r) pointers[r] = x + (first + r) * depth_;
    return;
  }
  const auto& [z_axis, y_axis, x_axis] = axes_;
  const std::int64_t line = first / x_axis.size, slice = line / y_axis.size;
  std::array<std::int64_t, 3> place{slice % z_axis.size, line % y_axis.size, first % x_axis.size};
  const float* image = x + slice / z_axis.size * image_stride_;
  for (std::int64_t row = 0; row < count;) {
    const std::int64_t run = std::min(count - row, x_axis.size - place[2]);
    locate_run(image, place, run, zeros, pointers + row);
    row += run;
    place[2] = 0;
    if (++place[1] < y_axis.size) continue;
    place[1] = 0;
    if (++place[0] < z_axis.size) continue;
    place[0] = 0;
    image += image_stride_;
  }
  for (std::int64_t tap = 0; tap < taps_; ++tap) {
    const float** const rows = pointers + tap * float_block_rows;
    if (std::all_of(rows, rows + count, [&](const float* row) { return row == zeros; }))
      *rows = nullptr;
  }
}

}  // namespace narrowgauge::cpu
