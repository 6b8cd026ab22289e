// SPDX-License-Identifier: Apache-2.0
// What is elementwise behind a convolution, as the epilogue of tiles of pixels.
#pragma once

#include <optional>

#include "kernels/cpu/tiles/pixel_convolution.h"
#include "narrowgauge/graph.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

struct TailEpilogue {
  cpu::PixelEpilogue epilogue;
  int residual = -1;  // the input of the group that is added; -1: none
};

// The sum with an input that lies as the result does, then a Relu, a Clip or a Gelu, either of them
// or both; nothing if anything else stands behind the convolution of the body.
std::optional<TailEpilogue> tail_epilogue(const Graph& body, int convolution,
                                          const Request& request);

}  // namespace narrowgauge
