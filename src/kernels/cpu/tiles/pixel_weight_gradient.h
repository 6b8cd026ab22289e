// SPDX-License-Identifier: Apache-2.0
// The weight gradient of a convolution of bf16 images in channels last, on AMX tiles. The
// contraction goes along neighbouring pixels, so any number of images will do. f32 accumulation,
// one rounding on store; subnormals count as zero. The same bits for any number of threads. A value
// that is not finite reaches all taps of its channel, even taps that do not see its pixel.
//
// Pixels are counted along rows of dy that are widened so that no tap of the window leaves a row of
// x with its border: a tap is then a fixed distance between pixels of dy and of x. If the window
// has strides, x is split into phases, planes of every stride-th pixel. A row of a block of B holds
// two neighbours in the contraction: taps at odd distances read a copy that is paired one pixel
// later.
#pragma once

#include <string>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

// Why no such kernel exists for these views on this machine; "" if one does. Views as in
// ConvolutionViews for the weight gradient: x and y are read, w is written.
std::string pixel_weight_gradient_reason(const ConvolutionViews& views,
                                         const ConvolutionWindow& window, Isa isa);

// Throws UsageError with the reason if there is one.
Prepared prepare_pixel_weight_gradient(const ConvolutionViews& views,
                                       const ConvolutionWindow& window,
                                       const ContractionOptions& options);

namespace amx {

// Packs 32 channels from `channel` on, of which `channels` exist, of pixels at any addresses.
struct PixelChannels {
  const std::byte* const* pixels;
  std::int64_t channel, channels;
};
// Packs 32 pixels into a block of A whose rows are the channels.
void pack_pixel_rows(const PixelChannels& from, std::byte* block);
// Packs pairs of pixels [2i, 2i + 1] into rows of 16 pairs at `even`, channels 16 to 31 `half`
// bytes further on; pairs [2i + 1, 2i + 2] likewise at `odd`, unless it is null.
struct PairedPixels {
  std::byte *even, *odd;
  std::int64_t half;
};
void pack_pixel_pairs(const PixelChannels& from, std::int64_t pairs, const PairedPixels& to);

// sums[32][32] f32 of one tap, set or added to: over `parts` parts of the pixels, `steps` blocks of
// A, one after the other, times the pairs of B.
struct PixelProduct {
  const std::byte *a, *b;
  std::int64_t parts, steps;
  std::int64_t part_bytes, half;  // of B: from part to part, and to channels 16 to 31
  bool add;
  float* sums;
};
// Computes `taps` neighbouring sums, with B at product.b plus each of `offsets` bytes.
void multiply_pixels(const PixelProduct& product, const std::int64_t* offsets, std::int64_t taps);

}  // namespace amx
}  // namespace narrowgauge::cpu
