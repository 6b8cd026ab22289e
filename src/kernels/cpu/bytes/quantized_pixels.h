// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions and products on VNNI: two segments of pixels (quantized_segments.h) by two
// panels of packed weights, whose sums stay in registers. Nothing is unrolled in memory.
#pragma once

#include <string>

#include "kernels/cpu/bytes/quantized_convolution.h"
#include "kernels/cpu/bytes/quantized_finish.h"
#include "kernels/cpu/bytes/quantized_segments.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t block_panels = 2;  // that are multiplied together

// Why it cannot be taken; "" when it can.
std::string quantized_pixels_reason(const QuantizedViews& views, const ConvolutionWindow& window,
                                    const QuantizedNumbers& numbers, Isa isa);
// Operands have their channels together.
Prepared prepare_quantized_pixels(const QuantizedViews& views, const ConvolutionWindow& window,
                                  const QuantizedNumbers& numbers, int threads);

// Segments of pixels by panels of weights, each [runs][steps_in_run][16][4].
struct PixelTask {
  const PixelSegment* segments;
  std::int64_t count;
  std::int64_t lengths[2];     // pixels of the first segment of a pair and of the second
  std::int64_t pixel_bytes;    // from pixel to pixel
  const std::int64_t* run_at;  // from a pixel
  std::int64_t runs, steps_in_run;
  const std::byte* weights;
  std::int64_t panel_bytes, first_panel, panels;
  const std::int32_t* starts;  // of the sums of all columns
  bool pixel_by_pixel;         // all panels for two segments, then for the next two
  bool copied;                 // pixels do not lie in x
  QuantizedFinish finish;
  const std::byte* residual;  // null: none
  std::byte* y;
  std::int64_t channels;  // of y
};
namespace avx512 {
void multiply_pixels(const PixelTask& task);
}  // namespace avx512

}  // namespace narrowgauge::cpu
