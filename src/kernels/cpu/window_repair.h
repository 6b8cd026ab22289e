// SPDX-License-Identifier: Apache-2.0
// What is not finite belongs to the results in whose window it lies. Kernels that multiply padding
// as zeros, or that have one scale for many values, make more results NaN; these are summed again
// here, in plain loops. Where everything is finite it costs a look at a few results.
#pragma once

#include <optional>

#include "kernels/cpu/contraction.h"

namespace narrowgauge::cpu {

// Images in memory: with strides or, where there are none, batch-inner (batch_inner.h).
struct PlacedImages {
  DType dtype;
  Dims dims;
  Dims strides = {};

  std::int64_t at(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const;
};

// A convolution over two spatial axes in one group. Tensors and Call::inputs as ConvolutionViews
// has them.
struct WindowRepair {
  ConvolutionPass pass;
  PlacedImages x;
  View w;
  PlacedImages y;
  std::optional<View> bias = {};
  ConvolutionWindow window = {};
  bool relu = false;

  void run(const Call& call) const;
};

// The same, then the repair.
Prepared repaired(Prepared prepared, const WindowRepair& repair);
Prepared repaired(Prepared prepared, ConvolutionPass pass, const ConvolutionViews& views,
                  const ConvolutionWindow& window);

}  // namespace narrowgauge::cpu
