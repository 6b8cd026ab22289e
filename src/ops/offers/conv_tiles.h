// SPDX-License-Identifier: Apache-2.0
// Convolutions on the tiles of AMX, with images in batch-inner blocks; the first of a network reads
// plain images.
#pragma once

#include "kernels/cpu/tiles/batch_inner_convolution.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

Offer offer_conv_tiles(const Request& request);
Offer offer_data_gradient_tiles(const Request& request);
Offer offer_weight_gradient_tiles(const Request& request);
// Offers for images in channels last: convolutions of single pixels, which are matrix products, and
// all weight gradients.
Offer offer_conv_pixels(const Request& request);
Offer offer_data_gradient_pixels(const Request& request);
Offer offer_weight_gradient_pixels(const Request& request);

// What to prepare for a Conv without bias, or a gradient of one, inside a group with all images in
// batch-inner blocks; or the reason why tiles do not take it.
struct TilesConvolution {
  cpu::BatchInnerConvolution convolution;
  std::string reason;
};
TilesConvolution tiles_convolution(const Node& node, const Operand& x, const Operand& w,
                                   const Operand& y, const Target& target);
// The convolution of a Conv that reads plain images.
TilesConvolution image_convolution(const Node& node, const Operand& x, const Operand& w,
                                   const Operand& y, const Target& target);

}  // namespace narrowgauge
