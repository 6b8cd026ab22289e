// SPDX-License-Identifier: Apache-2.0
// The inner part of convolutions of f32 that read plain images of few channels: the pixels of a
// line of y by a panel of 32 output channels, from rows of x that were copied with their padding.
#pragma once

#include <cstdint>

#include "kernels/cpu/floats/float_results.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t image_panel_vectors = 2;  // of 16 channels

struct ImageLine {
  const float* rows;       // of x under the line, for each channel and line of the window
  std::int64_t row_pitch;  // floats from row to row
  std::int64_t row_count;
  std::int64_t width;   // of the window
  std::int64_t stride;  // 1, 2 or 4: in a row, between pixels of y
  std::int64_t pixels;
  const float* weights;  // [width][row_count][16 or 32]
  FloatResults results;
};

namespace avx512 {
void multiply_image_line(const ImageLine& line);
}  // namespace avx512

}  // namespace narrowgauge::cpu
