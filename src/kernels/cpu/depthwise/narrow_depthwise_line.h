// SPDX-License-Identifier: Apache-2.0
// One line of a depthwise convolution of bf16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace narrowgauge::cpu {

inline constexpr std::int64_t depthwise_panel = 32;  // channels that are taken together

// The widths and strides of windows that there is code for.
constexpr bool is_depthwise_window(std::int64_t width, std::int64_t stride) {
  return (width == 3 || width == 5 || width == 7) && (stride == 1 || stride == 2);
}

struct NarrowDepthwiseLine {
  const std::byte* const* lines;  // of x under the window; null: outside
  // The lines that the window of the next line adds, which are prefetched meanwhile.
  const std::byte* ahead;
  std::int64_t ahead_lines, ahead_bytes;  // how many, and from one to the next
  std::int64_t height, width;             // of the window
  std::int64_t stride, pad;               // along the line
  std::int64_t x_pixels, y_pixels;
  std::int64_t channels;      // of a pixel
  std::int64_t begin, end;    // channels to compute, from a whole panel on
  const float* panels;        // of all channels; see narrow_depthwise_panel_floats
  const std::byte* residual;  // null: none
  std::byte* y;
  float low, high;
  bool has_bf16;  // the CPU: AVX512_BF16, which stores subnormals as zeros
};

// A panel is the biases of its channels and the weights of each tap, line by line: of 32 channels
// those that are even and then those that are odd, as bf16 widens with a shift and a mask.
constexpr std::int64_t narrow_depthwise_panel_floats(std::int64_t height, std::int64_t width) {
  return (1 + height * width) * depthwise_panel;
}
constexpr std::int64_t narrow_depthwise_place(std::int64_t channel) {
  return channel % 2 * (depthwise_panel / 2) + channel % depthwise_panel / 2;
}

namespace avx512 {
void narrow_depthwise_line(const NarrowDepthwiseLine& line);
}  // namespace avx512

}  // namespace narrowgauge::cpu
