// SPDX-License-Identifier: Apache-2.0
// Max and average pooling over one to three spatial axes, and their gradients: our own kernels over
// rows, for any strides (fastest if the channels are dense), f32 arithmetic on f32, f16 and bf16
// (f64 for the sums of large windows), f64 for checks. The same bits for any number of threads.
#pragma once

#include <optional>

#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

// Windows, one entry for each spatial axis. y's dims give the number of windows, so the caller
// decides how ends are rounded; windows may reach beyond the pads.
struct PoolWindow {
  Dims kernel, strides, dilations, pads_begin, pads_end;
};

// The indices tell which element was taken: u8 and i32 hold its number in the window, last axis
// fastest (u8 for windows of up to 256), i64 its index in row-major x, as in ONNX. Their dims are
// y's. Throws UsageError for shapes that do not fit.

// inputs {x}, outputs {y, indices}. Takes the first of equal maxima; NaN if the window holds one.
Prepared prepare_max_pool(const View& x, const View& y, const std::optional<View>& indices,
                          const PoolWindow& window);

// inputs {dy, indices}, outputs {dx}.
Prepared prepare_max_pool_gradient(const View& dy, const View& indices, const View& dx,
                                   const PoolWindow& window);

// Divides by the number of elements of the window in x, or in x and its pads.
enum class PoolCount { without_pads, with_pads };

// inputs {x}, outputs {y}.
Prepared prepare_average_pool(const View& x, const View& y, const PoolWindow& window,
                              PoolCount count);

// inputs {dy}, outputs {dx}.
Prepared prepare_average_pool_gradient(const View& dy, const View& dx, const PoolWindow& window,
                                       PoolCount count);

}  // namespace narrowgauge::cpu
