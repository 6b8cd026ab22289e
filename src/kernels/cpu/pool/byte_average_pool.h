// SPDX-License-Identifier: Apache-2.0
// Means of windows of bytes over one to three spatial axes, for any strides; fastest where channels
// lie together.
#pragma once

#include <string>

#include "kernels/cpu/pool/pooling.h"

namespace narrowgauge::cpu {

// The places of Call::inputs; those that are not given are null.
enum ByteAverageInput : int {
  average_x,
  average_x_scale,
  average_x_zero,
  average_y_scale,
  average_y_zero
};

// Why sums of such windows may be beyond i32; "" if they cannot be.
std::string byte_average_pool_reason(const PoolWindow& window);

// x is u8 or i8. y is f32, or u8 or i8 with a scale; the zero points have the dtypes of x and y.
Prepared prepare_byte_average_pool(const View& x, const View& y, const PoolWindow& window,
                                   PoolCount count);

}  // namespace narrowgauge::cpu
