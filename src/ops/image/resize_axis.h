// SPDX-License-Identifier: Apache-2.0
// Resize along one axis: sizes, coordinates and weights.
#pragma once

#include <optional>
#include <vector>

#include "ops/image/resize.h"

namespace narrowgauge {

struct ResizeAxis {
  std::size_t axis = 0;
  std::int64_t listed = 0;  // its place in scales and sizes
  double scale = 1;
  std::int64_t in = 1, out = 1;
  double roi_start = 0, roi_end = 1;
};

// The constant inputs that are given; scales and sizes never both.
struct ResizeInputs {
  const Tensor *roi = nullptr, *scales = nullptr, *sizes = nullptr;
};

// The axes that change, for x of the given shape. Throws UsageError for attributes and inputs that
// do not fit.
std::vector<ResizeAxis> resized_axes(const Resize& op, const Shape& x, const ResizeInputs& inputs);

// The input element of each output element, for mode nearest.
Dims nearest_elements(const Resize& op, const ResizeAxis& axis);
// The weights [out, in] of modes linear and cubic, in f64; each row sums to 1.
Tensor resize_weights(const Resize& op, const ResizeAxis& axis);

// bool [out]: whether the place is inside of the input; nothing where outside ones are treated
// as any other, that is unless tf_crop_and_resize.
std::optional<Tensor> inside_mask(const Resize& op, const ResizeAxis& axis);

}  // namespace narrowgauge
