// SPDX-License-Identifier: Apache-2.0
// The first convolution of a network reads plain images of few channels and stores channels that
// lie together. For each line of the result, the lines of x under its window are copied side by
// side with their padding, so that nothing behind knows of borders.
#pragma once

#include <algorithm>
#include <string>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t most_image_channels = 4;
// The most values under a window for kernels of narrow formats: more multiply faster elsewhere.
inline constexpr std::int64_t most_image_taps = 100;

// Why there are too many values under the window; "" if there are not.
std::string image_taps_reason(const View& w);

// Why x is no plain image of few channels, the channels of y do not lie together, or the window has
// groups or dilations; "" if none is so.
std::string image_window_reason(const View& x, const View& y, const ConvolutionWindow& window);

struct ImageWindow {
  ImageWindow(const View& x, const View& w, const View& y, const ConvolutionWindow& window)
      : channels(x.dims[1]),
        x_lines(x.dims[2]),
        x_pixels(x.dims[3]),
        y_lines(y.dims[2]),
        y_pixels(y.dims[3]),
        lines(y.dims[0] * y.dims[2]),
        outputs(w.dims[0]),
        height(w.dims[2]),
        width(w.dims[3]),
        stride_y(window.strides[0]),
        stride_x(window.strides[1]),
        pad_y(window.pads_begin[0]),
        pad_x(window.pads_begin[1]) {}

  std::int64_t rows() const { return channels * height; }  // of x under a line of y
  std::int64_t row_length() const { return (y_pixels - 1) * stride_x + width; }
  // Where row i under a line of y begins in x; -1: it is padding.
  std::int64_t row_begin(std::int64_t line, std::int64_t i) const {
    const std::int64_t at = line % y_lines * stride_y - pad_y + i % height;
    if (at < 0 || at >= x_lines) return -1;
    return ((line / y_lines * channels + i / height) * x_lines + at) * x_pixels;
  }
  // How many values of padding stand before those of x in a row, and how many of x there are.
  std::int64_t padding_before() const { return std::min(pad_x, row_length()); }
  std::int64_t values() const { return std::min(x_pixels, row_length() - padding_before()); }

  std::int64_t channels, x_lines, x_pixels, y_lines, y_pixels;
  std::int64_t lines;    // of y in all images
  std::int64_t outputs;  // channels of y
  std::int64_t height, width, stride_y, stride_x, pad_y, pad_x;
};

}  // namespace narrowgauge::cpu
