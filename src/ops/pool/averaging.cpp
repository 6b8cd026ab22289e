// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/averaging.h"

#include <algorithm>

namespace narrowgauge {

Averaging averaging_all(const Dims& input) {
  const Dims ones(input.size(), 1), zeros(input.size(), 0);
  return {{input, ones, ones, zeros, zeros}, false};
}

std::int64_t counted(const Averaging& how, const Dims& input, const Dims& place) {
  const Window& w = how.window;
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    std::int64_t along = 0;
    for (std::int64_t tap = 0; tap < w.kernel[axis]; ++tap) {
      const std::int64_t at =
          place[axis] * w.strides[axis] + tap * w.dilations[axis] - w.pads_begin[axis];
      const std::int64_t begin = how.with_pads ? -w.pads_begin[axis] : 0;
      const std::int64_t end = input[axis] + (how.with_pads ? w.pads_end[axis] : 0);
      along += at >= begin && at < end;
    }
    count *= along;
  }
  return std::max<std::int64_t>(count, 1);
}

Shape global_shape(std::string_view op, const Shape& x) {
  require(x.size() >= 3 && x.size() <= 5, op, ": expected x with one to three spatial axes, got ",
          x);
  Shape y(x.size(), 1);
  y[0] = x[0];
  y[1] = x[1];
  return y;
}

}  // namespace narrowgauge
