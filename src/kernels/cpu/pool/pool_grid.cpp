// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool/pool_grid.h"

#include <atomic>

namespace narrowgauge::cpu {
namespace {

void check(const char* who, const View& x, const View& y, const PoolWindow& window) {
  const std::size_t rank = x.dims.size();
  require(rank >= 3 && rank <= 5, who, ": expected 1 to 3 spatial axes, got ", x.dims);
  require(y.dims.size() == rank && y.dims[0] == x.dims[0] && y.dims[1] == x.dims[1], who, ": y ",
          y.dims, " does not fit x ", x.dims);
  for (const Dims* dims :
       {&window.kernel, &window.strides, &window.dilations, &window.pads_begin, &window.pads_end})
    require(dims->size() == rank - 2, who, ": expected a window of ", rank - 2, " axes");
  for (std::size_t i = 0; i + 2 < rank; ++i)
    require(window.kernel[i] >= 1 && window.strides[i] >= 1 && window.dilations[i] >= 1 &&
                window.pads_begin[i] >= 0 && window.pads_end[i] >= 0,
            who, ": kernel, strides and dilations must be at least 1 and pads at least 0");
}

}  // namespace

PoolGrid::PoolGrid(const char* who, const View& x, const View& y, const PoolWindow& window)
    : x_((check(who, x, y, window), x)),
      y_(y),
      kernel_(three(window.kernel, 1)),
      strides_(three(window.strides, 1)),
      dilations_(three(window.dilations, 1)),
      pads_begin_(three(window.pads_begin, 0)),
      pads_end_(three(window.pads_end, 0)) {}

PoolGrid::Range PoolGrid::range(std::int64_t tap) const {
  const std::int64_t shift = tap * dilations_[2] - pads_begin_[2], stride = strides_[2];
  const std::int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t room = x_.dims[4] - shift;  // places left of the end of x
  const std::int64_t end = room <= 0 ? 0 : std::min(y_.dims[4], (room - 1) / stride + 1);
  return {begin, std::max(begin, end), begin * stride + shift};
}

std::int64_t PoolGrid::count(std::size_t axis, std::int64_t place, PoolCount how) const {
  const bool with_pads = how == PoolCount::with_pads;
  const std::int64_t first = with_pads ? -pads_begin_[axis] : 0;
  const std::int64_t end = x_.dims[axis + 2] + (with_pads ? pads_end_[axis] : 0);
  std::int64_t count = 0;
  for (std::int64_t tap = 0; tap < kernel_[axis]; ++tap) {
    const std::int64_t from = place * strides_[axis] - pads_begin_[axis] + tap * dilations_[axis];
    count += from >= first && from < end;
  }
  return count;
}

bool PoolGrid::every_window_sees_x() const {
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::int64_t place = 0; place < y_.dims[axis + 2]; ++place)
      if (count(axis, place, PoolCount::without_pads) == 0) return false;
  return true;
}

void add_flushed(const Call& call, std::int64_t flushed) {
  if (call.flushed) std::atomic_ref(*call.flushed).fetch_add(flushed, std::memory_order_relaxed);
}

}  // namespace narrowgauge::cpu
