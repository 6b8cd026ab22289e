// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/int8/int8_planes.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {
namespace {

template <class Use>
void each_tap(const Int8Axes& sizes, const Use& use) {
  for (std::int64_t z = 0; z < sizes[0]; ++z)
    for (std::int64_t y = 0; y < sizes[1]; ++y)
      for (std::int64_t x = 0; x < sizes[2]; ++x) use(Int8Axes{z, y, x});
}

}  // namespace

std::int64_t Int8Planes::Axis::phase_of(std::int64_t tap) const {
  const std::int64_t remainder = tap * dilation % stride;
  return std::find(remainders.begin(), remainders.end(), remainder) - remainders.begin();
}

Int8Planes::Int8Planes(const Dims& x, const Dims& w, const Dims& y,
                       const ConvolutionWindow& window) {
  const std::size_t missing = 5 - x.size();
  copies_ = false;
  for (std::size_t i = 0; i < 3; ++i) {
    Axis& axis = axes_[i];
    if (i >= missing) {
      const std::size_t at = i - missing;
      axis = {{x[2 + at], y[2 + at], w[2 + at], window.strides[at], window.dilations[at],
               window.pads_begin[at]},
              0,
              {}};
      copies_ = copies_ || axis.stride != 1 || axis.pad != 0 || window.pads_end[at] != 0;
    }
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap)
      if (axis.phase_of(tap) == std::ssize(axis.remainders))
        axis.remainders.push_back(tap * axis.dilation % axis.stride);
    axis.plane = ceil_divide(axis.seen(axis.y), axis.stride);
    phases_per_channel_ *= std::ssize(axis.remainders);
  }
  if (!copies_)
    for (Axis& axis : axes_) axis.plane = axis.x;
  for (const Axis& axis : axes_) {
    plane_ *= axis.plane;
    places_ = (places_ - 1) * axis.plane + axis.y;
  }
  list_depths(w[1]);
}

std::int64_t Int8Planes::shift_of(const Int8Axes& tap) const {
  std::int64_t phase = 0, shift = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Axis& axis = axes_[i];
    phase = phase * std::ssize(axis.remainders) + axis.phase_of(tap[i]);
    shift = shift * axis.plane + tap[i] * axis.dilation / axis.stride;
  }
  return phase * plane_ + shift;
}

void Int8Planes::list_depths(std::int64_t channels) {
  std::vector<std::int64_t> taps;
  each_tap({axes_[0].kernel, axes_[1].kernel, axes_[2].kernel},
           [&](const Int8Axes& tap) { taps.push_back(shift_of(tap)); });
  for (std::int64_t channel = 0; channel < channels; ++channel)
    for (const std::int64_t tap : taps) depth_at_.push_back(channel * channel_bytes() + tap);
}

std::vector<Int8Finish::Piece> Int8Planes::pieces(std::int64_t panel) const {
  std::vector<Int8Finish::Piece> all;
  for (std::int64_t lane = 0; lane < int8_square; ++lane) {
    std::int64_t place = panel * int8_square + lane, at = 0, size = 1;
    bool inside = place < places_;
    for (std::size_t i = 3; i-- > 0; place /= axes_[i].plane) {
      const std::int64_t index = i == 0 ? place : place % axes_[i].plane;
      inside = inside && index < axes_[i].y;
      at += index * size;
      size *= axes_[i].y;
      if (i == 0) break;
    }
    if (!inside) continue;
    if (all.empty() || all.back().offset != at - lane) all.push_back({0, at - lane});
    all.back().mask |= std::uint32_t{1} << lane;
  }
  return all;
}

void Int8Planes::fill_row(const std::uint8_t* x, std::int64_t remainder, std::uint8_t zero,
                          std::uint8_t* row) const {
  const Axis& axis = axes_[2];
  // Place q holds x[q stride + remainder - pad].
  const std::int64_t from = remainder - axis.pad;
  const std::int64_t first =
      std::clamp<std::int64_t>(from >= 0 ? 0 : ceil_divide(-from, axis.stride), 0, axis.plane);
  const std::int64_t left = axis.x - from;
  const std::int64_t last =
      std::clamp(left > 0 ? ceil_divide(left, axis.stride) : 0, first, axis.plane);
  std::fill(row, row + first, zero);
  if (axis.stride == 1)
    std::copy(x + from + first, x + from + last, row + first);
  else
    for (std::int64_t q = first; q < last; ++q) row[q] = x[q * axis.stride + from];
  std::fill(row + last, row + axis.plane, zero);
}

void Int8Planes::fill_plane(const std::uint8_t* x, const Int8Axes& remainders, std::uint8_t zero,
                            std::uint8_t* plane) const {
  const auto source = [&](std::size_t i, std::int64_t q) {
    return q * axes_[i].stride + remainders[i] - axes_[i].pad;
  };
  for (std::int64_t z = 0; z < axes_[0].plane; ++z)
    for (std::int64_t y = 0; y < axes_[1].plane; ++y, plane += axes_[2].plane) {
      const std::int64_t in_z = source(0, z), in_y = source(1, y);
      if (in_z < 0 || in_z >= axes_[0].x || in_y < 0 || in_y >= axes_[1].x)
        std::fill(plane, plane + axes_[2].plane, zero);
      else
        fill_row(x + (in_z * axes_[1].x + in_y) * axes_[2].x, remainders[2], zero, plane);
    }
}

void Int8Planes::fill(const std::uint8_t* x, std::uint8_t zero, std::byte* planes) const {
  auto* to = reinterpret_cast<std::uint8_t*>(planes);
  for (const std::int64_t z : axes_[0].remainders)
    for (const std::int64_t y : axes_[1].remainders)
      for (const std::int64_t x_phase : axes_[2].remainders) {
        fill_plane(x, {z, y, x_phase}, zero, to);
        to += plane_;
      }
}

}  // namespace narrowgauge::cpu
