// SPDX-License-Identifier: Apache-2.0
// Requests for convolutions and their gradients in one form, and the kernels that take them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/batch_inner/batch_inner_convolution.h"
#include "kernels/cpu/contraction/contraction.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// A pass of y = x * w + bias, as cpu::ConvolutionViews has it: in a gradient pass x, w and y stand
// for their gradients. The operands must outlive it.
struct Convolution {
  cpu::ConvolutionPass pass;
  const Operand &x, &w, &y;
  const Operand* bias = nullptr;  // only forward
  cpu::ConvolutionWindow window{};
  Math math = Math::none;

  cpu::ConvolutionViews views() const;
};

struct ConvolutionRequest {
  const Request& request;
  Convolution convolution;
  std::vector<int> inputs;  // of the request, in the order of the kernels: x, w, bias, y
};

// Why panels of f32 do not take a convolution; "" if they do.
std::string panels_reason(const ConvolutionRequest& request);

struct ConvolutionKernel {
  std::string_view name;
  Offer (*offer)(const ConvolutionRequest&);
};

// On the tiles of AMX: images in batch-inner blocks, or plain ones of few channels.
Offer convolution_on_tiles(const ConvolutionRequest& request);
// On the same tiles, with images in channels last and constant weights.
Offer convolution_on_pixel_tiles(const ConvolutionRequest& request);
// On the same tiles, with images in channels last: convolutions of single pixels, which are matrix
// products, and all weight gradients.
Offer convolution_of_pixels(const ConvolutionRequest& request);
// Vectors of AVX-512 in bf16: depthwise with channels together, and from plain images of few
// channels.
Offer depthwise_convolution(const ConvolutionRequest& request);
Offer image_by_vectors(const ConvolutionRequest& request);
Offer convolution_in_pairs(const ConvolutionRequest& request);  // of bf16
Offer convolution_in_dfp16(const ConvolutionRequest& request);
// Panels of f32, for constant weights.
Offer convolution_in_panels(const ConvolutionRequest& request);
Offer convolution_in_onednn(const ConvolutionRequest& request);
Offer convolution_in_tf32(const ConvolutionRequest& request);
Offer simulated_convolution(const ConvolutionRequest& request);

inline constexpr ConvolutionKernel convolution_kernels[] = {
    {"depthwise", depthwise_convolution}, {"tiles", convolution_on_tiles},
    {"image", image_by_vectors},          {"pixel tiles", convolution_on_pixel_tiles},
    {"pixels", convolution_of_pixels},    {"pairs", convolution_in_pairs},
    {"dfp16", convolution_in_dfp16},      {"panels", convolution_in_panels},
    {"onednn", convolution_in_onednn},    {"tf32", convolution_in_tf32},
    {"simulated", simulated_convolution}};

// What to prepare for a convolution without bias inside a group, with all images in batch-inner
// blocks; or the reason why tiles do not take it.
struct TilesConvolution {
  cpu::BatchInnerConvolution convolution;
  std::string reason;
};
TilesConvolution tiles_convolution(const Convolution& convolution, const Target& target);
// The convolution on tiles of a forward pass that reads plain images.
TilesConvolution image_convolution(const Convolution& convolution, const Target& target);

}  // namespace narrowgauge
