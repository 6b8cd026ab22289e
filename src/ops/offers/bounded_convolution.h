// SPDX-License-Identifier: Apache-2.0
// Requests for convolutions with a residual and bounds behind them, and the kernels that take them.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/cpu/contraction/bounded_convolution.h"
#include "narrowgauge/kernel.h"
#include "ops/offers/convolution.h"

namespace narrowgauge {

// A request to kernels of bounded convolutions, by a convolution or by a group that has one.
struct BoundedRequest {
  const Request& request;
  Math math;  // of the convolution
  cpu::BoundedConvolution convolution;
  std::vector<int> inputs;  // of the request, in the order of cpu::BoundedInput; -1: none
};

struct BoundedKernel {
  std::string_view name;
  Offer (*offer)(const BoundedRequest&);
};

// Offers in bf16: a depthwise one with channels together, and one of plain images of few channels.
Offer bounded_depthwise(const BoundedRequest& request);
Offer bounded_image(const BoundedRequest& request);
// An offer in bf16 or f32, with channels together and constant weights.
Offer bounded_pixel_tiles(const BoundedRequest& request);

inline constexpr BoundedKernel bounded_kernels[] = {{"depthwise", bounded_depthwise},
                                                    {"image", bounded_image},
                                                    {"pixel tiles", bounded_pixel_tiles}};

// A forward pass alone, without residual and bounds.
BoundedRequest unbounded(const ConvolutionRequest& request);

}  // namespace narrowgauge
