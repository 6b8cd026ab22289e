// SPDX-License-Identifier: Apache-2.0
// How the averages of windows are taken, for AveragePool, GlobalAveragePool, and those of bytes.
#pragma once

#include "kernels/cpu/pool/pooling.h"
#include "ops/pool/window.h"

namespace narrowgauge {

struct Averaging {
  Window window;
  bool with_pads = false;  // whether a window's mean is also over its places in the pads

  cpu::PoolWindow pool_window() const {
    return {window.kernel, window.strides, window.dilations, window.pads_begin, window.pads_end};
  }
  cpu::PoolCount count() const {
    return with_pads ? cpu::PoolCount::with_pads : cpu::PoolCount::without_pads;
  }
};

// One window over an input of spatial size `input`.
Averaging averaging_all(const Dims& input);

// The number of places that the mean of the window at `place` divides by.
std::int64_t counted(const Averaging& how, const Dims& input, const Dims& place);

// [N, C, 1, ...] after [N, C, spatial...]; throws UsageError for other ranks.
Shape global_shape(std::string_view op, const Shape& x);

}  // namespace narrowgauge
