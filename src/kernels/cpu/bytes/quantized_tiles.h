// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions and products on the tiles of AMX: pixels in rows of tiles as they lie
// (tiles/pixel_lines.h), weights packed in panels of 32 channels, exact sums in i32. The epilogue
// of a block runs between the products of the next one.
#pragma once

#include "kernels/cpu/bytes/quantized_convolution.h"
#include "kernels/cpu/bytes/quantized_finish.h"
#include "kernels/cpu/tiles/pixel_weights.h"

namespace narrowgauge::cpu {

// Why tiles cannot take it; "" when they can.
std::string quantized_tiles_reason(const QuantizedViews& views, const ConvolutionWindow& window,
                                   const QuantizedNumbers& numbers, Isa isa);
// `threads`: 0 for thread_count().
Prepared prepare_quantized_tiles(const QuantizedViews& views, const ConvolutionWindow& window,
                                 const QuantizedNumbers& numbers, int threads = 0);

// `saturates`: saturation_bounds() of the finish. `starts_at_zero`: all of its starts are zero.
struct QuantizedTileProduct {
  PixelProduct product;
  bool x_signed, saturates, starts_at_zero;
  QuantizedFinish finish;
  const std::byte* residual;
  std::byte* y;
  std::int64_t channels;  // of y
};
namespace amx {
void quantized_multiply(const QuantizedTileProduct& product);
}  // namespace amx

}  // namespace narrowgauge::cpu
