// SPDX-License-Identifier: Apache-2.0
// Images of bytes laid out so that a convolution reads them without gathering pixels: padded
// planes, one for each remainder of a place by the stride. In a plane every tap of the window is a
// shift, so for each tap the pixels of an output are contiguous, row after row. Places between the
// rows of the output are computed too, and left out on store.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/core/window_axis.h"
#include "kernels/cpu/int8/int8_blocks.h"

namespace narrowgauge::cpu {

using Int8Axes = std::array<std::int64_t, 3>;  // z, y, x; axes that are missing have size 1

class Int8Planes {
 public:
  // x [N, C, spatial...], w [M, C / groups, kernel...], y [N, M, spatial...].
  Int8Planes(const Dims& x, const Dims& w, const Dims& y, const ConvolutionWindow& window);

  bool copies() const { return copies_; }  // else x is read as it lies
  std::int64_t channel_bytes() const { return phases_per_channel_ * plane_; }
  std::int64_t places() const { return places_; }  // that are computed, in an image
  // Offsets from a place of the first channel to the value of k, for all k of a group.
  const std::vector<std::int64_t>& depth_at() const { return depth_at_; }
  // The pieces of a panel of 32 places that are pixels of y; offsets in elements.
  std::vector<Int8Finish::Piece> pieces(std::int64_t panel) const;

  // Writes one channel of x into its planes; pads are `zero`.
  void fill(const std::uint8_t* x, std::uint8_t zero, std::byte* planes) const;

 private:
  struct Axis : WindowAxis {
    std::int64_t plane = 1;                   // places in a plane
    std::vector<std::int64_t> remainders{0};  // that some tap has
    std::int64_t phase_of(std::int64_t tap) const;
  };
  void fill_row(const std::uint8_t* x, std::int64_t remainder, std::uint8_t zero,
                std::uint8_t* row) const;
  void fill_plane(const std::uint8_t* x, const Int8Axes& remainders, std::uint8_t zero,
                  std::uint8_t* plane) const;
  std::int64_t shift_of(const Int8Axes& tap) const;
  void list_depths(std::int64_t channels);

  std::array<Axis, 3> axes_;
  bool copies_ = true;
  std::int64_t phases_per_channel_ = 1, plane_ = 1, places_ = 1;
  std::vector<std::int64_t> depth_at_;
};

}  // namespace narrowgauge::cpu
