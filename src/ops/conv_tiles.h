// SPDX-License-Identifier: Apache-2.0
// Convolutions on the tiles of AMX, with images in batch-inner blocks; the first of a network reads
// plain images.
#pragma once

#include "kernels/cpu/batch_inner_convolution.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

Offer offer_conv_tiles(const Request& request);
Offer offer_data_gradient_tiles(const Request& request);
Offer offer_weight_gradient_tiles(const Request& request);
// Of images in channels last: convolutions of single pixels, which are matrix products, and the
// weight gradients of all.
Offer offer_conv_pixels(const Request& request);
Offer offer_data_gradient_pixels(const Request& request);
Offer offer_weight_gradient_pixels(const Request& request);

// A Conv without bias or a gradient of one inside a group, all images in batch-inner blocks: what
// to prepare, or the reason why tiles do not take it.
struct TilesConvolution {
  cpu::BatchInnerConvolution convolution;
  std::string reason;
};
TilesConvolution tiles_convolution(const Node& node, const Operand& x, const Operand& w,
                                   const Operand& y);
// The same of a Conv that reads plain images.
TilesConvolution image_convolution(const Node& node, const Operand& x, const Operand& w,
                                   const Operand& y);

}  // namespace narrowgauge
