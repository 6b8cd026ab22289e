// SPDX-License-Identifier: Apache-2.0
// Matrices for kernel tests, in several orders of memory.
#pragma once

#include "kernels/array.h"

namespace narrowgauge::cpu {

// The order of the last two axes; spread and wide ones are not dense.
enum class Order { plain, transposed, spread, wide };

inline GuardedArray matrix(DType dtype, const Dims& dims, Order order = Order::plain) {
  View view = dense_view(dtype, dims);
  const std::size_t last = dims.size() - 1;
  Dims buffer = dims;
  if (order == Order::transposed) {
    view.strides[last] = dims[last - 1];
    view.strides[last - 1] = 1;
  } else if (order != Order::plain) {
    buffer[last] = dims[last] * 2 + 3;
    view.strides = dense_strides(buffer);
    if (order == Order::spread) view.strides[last] = 2;
  }
  return GuardedArray(view, element_count(buffer));
}

}  // namespace narrowgauge::cpu
