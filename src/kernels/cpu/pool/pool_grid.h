// SPDX-License-Identifier: Apache-2.0
// How windows lie over x, with rows of x and y as dense runs of the arithmetic type. A row holds
// `lanes` channels for each place along the last spatial axis: all channels if they are dense, else
// one, and each channel is a plane of its own.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/threads/parallel.h"
#include "kernels/cpu/core/strided_run.h"
#include "kernels/cpu/core/view5.h"
#include "kernels/cpu/pool/pooling.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge::cpu {

class PoolGrid {
 public:
  // Checks the shapes; messages begin with `who`.
  PoolGrid(const char* who, const View& x, const View& y, const PoolWindow& window);

  const View5& x() const { return x_; }
  const View5& y() const { return y_; }
  const Index3& kernel() const { return kernel_; }

  // The place of x along an axis that an output place sees through a tap; false if it is beyond x.
  bool source(std::size_t axis, std::int64_t place, std::int64_t tap, std::int64_t& from) const {
    from = place * strides_[axis] - pads_begin_[axis] + tap * dilations_[axis];
    return from >= 0 && from < x_.dims[axis + 2];
  }
  // Writes where the elements of x lie that a place of y sees, in their order; returns their
  // number.
  template <class Element>
  std::int64_t taps_of(const Index3& place, const Element* x, const Element** taps) const {
    std::int64_t count = 0;
    Index3 from;
    for (std::int64_t a = 0; a < kernel_[0]; ++a)
      for (std::int64_t b = 0; b < kernel_[1]; ++b) {
        if (!source(0, place[0], a, from[0]) || !source(1, place[1], b, from[1])) continue;
        for (std::int64_t c = 0; c < kernel_[2]; ++c)
          if (source(2, place[2], c, from[2])) taps[count++] = x + x_.at(0, 0, from);
      }
    return count;
  }
  // The output place along an axis that sees a place of x through a tap; false if none does.
  bool target(std::size_t axis, std::int64_t place, std::int64_t tap, std::int64_t& to) const {
    const std::int64_t offset = place + pads_begin_[axis] - tap * dilations_[axis];
    if (offset < 0 || offset % strides_[axis] != 0) return false;
    to = offset / strides_[axis];
    return to < y_.dims[axis + 2];
  }
  // Output places [begin, end) along the last axis whose tap lies in x.
  struct Range {
    std::int64_t begin, end, first_source;
  };
  Range range(std::int64_t tap) const;
  std::int64_t last_stride() const { return strides_[2]; }

  // The number of elements of a window along an axis.
  std::int64_t count(std::size_t axis, std::int64_t place, PoolCount how) const;
  bool every_window_sees_x() const;

 private:
  View5 x_, y_;
  Index3 kernel_, strides_, dilations_, pads_begin_, pads_end_;
};

// A row of a view: places along the last axis, `lanes` channels each.
struct PoolRows {
  std::int64_t lanes, planes;  // planes: images, or images times channels

  // Finds the rows of views that must all have the same N and C.
  static PoolRows of(std::initializer_list<const View5*> views) {
    const View5& first = **views.begin();
    if (first.dims[1] == 0) return {1, 0};
    const bool dense = std::all_of(views.begin(), views.end(),
                                   [](const View5* view) { return view->strides[1] == 1; });
    if (dense) return {first.dims[1], first.dims[0]};
    return {1, first.dims[0] * first.dims[1]};
  }
  std::int64_t offset(const View5& view, std::int64_t plane, std::int64_t i, std::int64_t j) const {
    const std::int64_t channels = lanes > 1 ? 1 : view.dims[1];
    return view.at(plane / channels, plane % channels, {i, j, 0});
  }
};

// Calls body(plane, i, j) for every row of a view, in pieces; `make` gives each its own scratch.
template <class Make, class Body>
void for_each_row(const PoolRows& rows, const View5& view, const Make& make, const Body& body) {
  const std::int64_t inner = view.dims[2] * view.dims[3];
  const std::int64_t width = std::max<std::int64_t>(1, view.dims[4] * rows.lanes);
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / width);
  parallel_for(rows.planes * inner, grain, [&](std::int64_t begin, std::int64_t end) {
    auto scratch = make();
    for (std::int64_t row = begin; row < end; ++row)
      body(scratch, row / inner, row % inner / view.dims[3], row % view.dims[3]);
  });
}

// A row as `Real`s; the caller's memory itself if it is dense already.
template <class Real>
const Real* load_row(const View5& view, const void* data, std::int64_t offset, std::int64_t lanes,
                     Real* buffer) {
  const std::int64_t width = view.dims[4], stride = view.strides[4];
  const bool dense = stride == lanes || width == 1;
  const void* from = at_offset(data, view.dtype, offset);
  if constexpr (std::same_as<Real, double>) {
    if (dense) return static_cast<const double*>(from);
    for (std::int64_t i = 0; i < width; ++i)
      std::memcpy(buffer + i * lanes, static_cast<const double*>(from) + i * stride,
                  static_cast<std::size_t>(lanes) * sizeof(double));
  } else {
    if (dense && view.dtype == DType::f32) return static_cast<const float*>(from);
    if (dense) {
      widen_run(view.dtype, from, 1, buffer, width * lanes);
    } else if (lanes == 1) {
      widen_run(view.dtype, from, stride, buffer, width);
    } else {
      for (std::int64_t i = 0; i < width; ++i)
        widen_run(view.dtype, at_offset(from, view.dtype, i * stride), 1, buffer + i * lanes,
                  lanes);
    }
  }
  return buffer;
}

// Stores a row; returns how many values became zero.
template <class Real>
std::int64_t store_row(const Real* row, const View5& view, void* data, std::int64_t offset,
                       std::int64_t lanes) {
  const std::int64_t width = view.dims[4], stride = view.strides[4];
  void* to = at_offset(data, view.dtype, offset);
  std::int64_t flushed = 0;
  if constexpr (std::same_as<Real, double>) {
    for (std::int64_t i = 0; i < width; ++i)
      std::memcpy(static_cast<double*>(to) + i * stride, row + i * lanes,
                  static_cast<std::size_t>(lanes) * sizeof(double));
  } else {
    if (stride == lanes || width == 1) {
      narrow_run(row, view.dtype, to, 1, width * lanes, &flushed);
    } else if (lanes == 1) {
      narrow_run(row, view.dtype, to, stride, width, &flushed);
    } else {
      for (std::int64_t i = 0; i < width; ++i)
        narrow_run(row + i * lanes, view.dtype, at_offset(to, view.dtype, i * stride), 1, lanes,
                   &flushed);
    }
  }
  return view.dtype == DType::f16 ? flushed : 0;
}

// Calls body with a value of the arithmetic type for the dtypes; throws UsageError for others.
template <class Body>
Prepared for_arithmetic(const char* who, DType a, DType b, const Body& body) {
  if (a == DType::f64 && b == DType::f64) return body(double{});
  require(is_f32_or_narrow(a) && is_f32_or_narrow(b), who,
          ": expected f32, f16 and bf16, or f64 alone, got ", a, " and ", b);
  return body(float{});
}

void add_flushed(const Call& call, std::int64_t flushed);

}  // namespace narrowgauge::cpu
