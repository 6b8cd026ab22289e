// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

View dense_view(DType dtype, const Dims& dims) { return {dtype, dims, dense_strides(dims)}; }

View channels_last_view(DType dtype, const Dims& dims) {
  NG_INVARIANT(dims.size() >= 2);
  View view{dtype, dims, Dims(dims.size(), 1)};
  std::int64_t stride = dims[1];
  for (std::size_t axis = dims.size(); axis-- > 2;) {
    view.strides[axis] = stride;
    stride *= dims[axis];
  }
  view.strides[0] = stride;
  return view;
}

View slice(const View& view, int axis, std::int64_t size) {
  View part = view;
  part.dims[static_cast<std::size_t>(axis)] = size;
  return part;
}

View dense_slice(const View& view, int axis, std::int64_t size) {
  View part = slice(view, axis, size);
  const auto cut = static_cast<std::size_t>(axis);
  const std::int64_t whole = view.dims[cut], outside = view.strides[cut] * whole;
  for (std::size_t other = 0; other < view.dims.size(); ++other)
    if (other != cut && view.strides[other] >= outside)
      part.strides[other] = view.strides[other] / whole * size;
  return part;
}

bool same_layout(const View& a, const View& b) {
  if (a.dims != b.dims) return false;
  for (std::size_t axis = 0; axis < a.dims.size(); ++axis)
    if (a.dims[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  return true;
}

bool is_dense(const View& view) { return same_layout(view, dense_view(view.dtype, view.dims)); }

bool is_channels_last(const View& view) {
  return same_layout(view, channels_last_view(view.dtype, view.dims));
}

}  // namespace narrowgauge::cpu
