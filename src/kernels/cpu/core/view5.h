// SPDX-License-Identifier: Apache-2.0
// A view with exactly three spatial axes, for plain loops over one, two or three of them.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

using Index3 = std::array<std::int64_t, 3>;

// Missing spatial axes come before the others, with one place each.
struct View5 {
  DType dtype;
  std::array<std::int64_t, 5> dims{1, 1, 1, 1, 1}, strides{};
  explicit View5(const View& view) : dtype(view.dtype) {
    const std::size_t missing = 5 - view.dims.size();
    for (std::size_t i = 0; i < view.dims.size(); ++i) {
      dims[i < 2 ? i : i + missing] = view.dims[i];
      strides[i < 2 ? i : i + missing] = view.strides[i];
    }
  }
  Index3 spatial() const { return {dims[2], dims[3], dims[4]}; }
  std::int64_t at(std::int64_t n, std::int64_t c, const Index3& place) const {
    return n * strides[0] + c * strides[1] + place[0] * strides[2] + place[1] * strides[3] +
           place[2] * strides[4];
  }
};

inline Index3 three(const Dims& values, std::int64_t missing) {
  Index3 result{missing, missing, missing};
  for (std::size_t i = 0; i < values.size(); ++i) result[3 - values.size() + i] = values[i];
  return result;
}

}  // namespace narrowgauge::cpu
