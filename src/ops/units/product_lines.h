// SPDX-License-Identifier: Apache-2.0
// The operands of a contraction as the two matrices of a product, [lines, k]: rows of the left one,
// columns of the right one, whatever tensor holds them, with zeros where a window leaves it.
#pragma once

#include <cstdint>
#include <vector>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// A line's number is (outer, places along spatial axes, inner), row-major; so is a k. Outer and
// inner parts advance in the tensor by their stride, places as the tables say.
struct ProductLines {
  struct Part {
    std::int64_t size = 1, stride = 0;
  };
  // Where place `line` of a line and place `k` of a k meet in the tensor: offsets[line * depth + k]
  // elements further on, or -1 for a zero.
  struct Axis {
    std::int64_t lines = 1, depth = 1;
    std::vector<std::int64_t> offsets;
  };

  Part line_outer, line_inner, depth_outer, depth_inner;
  std::vector<Axis> axes;

  std::int64_t lines() const;
  std::int64_t depth() const;
  // Gathers lines begin to end, elements of so many bytes (2, 4 or 8), densely.
  void gather(int bytes, const void* tensor, std::int64_t begin, std::int64_t end, void* out) const;
};

}  // namespace narrowgauge
