// SPDX-License-Identifier: Apache-2.0
// One line of a quantised convolution of each channel by itself, with VNNI: lines of x under the
// window are interleaved into fours of bytes, whose products with the weights of a column are added
// at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace narrowgauge::cpu {

inline constexpr std::int64_t woven_panel = 64;  // channels that are taken together
inline constexpr std::int64_t most_woven_lines = 5;

// The windows, as high as wide, and their strides that there is code for.
constexpr bool is_woven_window(std::int64_t size, std::int64_t stride) {
  return (size == 3 || size == 5) && (stride == 1 || stride == 2);
}
// The place of a channel among those of its panel, once its bytes are interleaved.
constexpr std::int64_t woven_place(std::int64_t channel) {
  const std::int64_t in_panel = channel % woven_panel, lane = in_panel / 16, rest = in_panel % 16;
  return rest / 4 * 16 + lane * 4 + rest % 4;
}

// The weights of a panel take so many bytes.
constexpr std::int64_t woven_weight_bytes(std::int64_t window) {
  return (window + 3) / 4 * window * 4 * woven_panel;
}

// Lists for all channels, padded to whole panels, in the order of woven_place().
struct WovenLists {
  const std::byte* weights;     // for each panel, four lines and column: fours of s8
  const std::int32_t* offsets;  // what sums begin with
  const float *factors, *biases;
};

// A line of y = bound(sum factor + bias), as QuantizedFinish has it.
struct WovenDepthwiseLine {
  const std::byte* lines[most_woven_lines];  // of x under the window, or of padding
  std::int64_t pitches[most_woven_lines];    // from pixel to pixel: 0 for padding
  // The lines that the window of the next line adds, which are prefetched meanwhile.
  const std::byte* ahead;
  std::int64_t ahead_lines, ahead_bytes;  // how many, and from one to the next
  std::int64_t window, stride, pad;       // along the line
  std::int64_t x_pixels, y_pixels;
  std::int64_t channels;    // of a pixel
  std::int64_t begin, end;  // panels to compute
  WovenLists lists;
  std::byte* y;
  float low, high;
  std::int32_t x_zero, y_zero;
  bool x_signed, y_signed;
};

namespace avx512 {
void woven_depthwise_line(const WovenDepthwiseLine& line);
}  // namespace avx512

}  // namespace narrowgauge::cpu
