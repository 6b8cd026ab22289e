// SPDX-License-Identifier: Apache-2.0
// One spatial axis of a window that moves over x, as of a convolution or a pool.
#pragma once

#include <cstdint>

namespace narrowgauge::cpu {

struct WindowAxis {
  std::int64_t x = 1, y = 1, kernel = 1;  // sizes
  std::int64_t stride = 1, dilation = 1, pad = 0;

  // How far the last tap lies behind the first.
  std::int64_t reach() const { return (kernel - 1) * dilation; }
  // Places of x, pads among them, that `count` places of y see.
  std::int64_t seen(std::int64_t count) const { return (count - 1) * stride + reach() + 1; }
  // Whether no place of y sees a pad.
  bool inside() const { return pad == 0 && seen(y) <= x; }
  // Whether each place of y sees the place of x with its number alone.
  bool is_pointwise() const { return kernel == 1 && x == y && stride == 1 && pad == 0; }
  // The place of x that a tap sees; -1: a pad.
  std::int64_t place(std::int64_t at, std::int64_t tap) const {
    const std::int64_t place = at * stride - pad + tap * dilation;
    return place >= 0 && place < x ? place : -1;
  }
};

}  // namespace narrowgauge::cpu
