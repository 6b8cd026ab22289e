// SPDX-License-Identifier: Apache-2.0
// The pixels of a convolution whose channels lie together, as VNNI multiplies them: in pairs of
// segments of pixels of y beside each other, whose windows lie the same distance apart. All first
// segments have one length, and so have all second ones. The last ones of a line may reach back
// over pixels of those before. What a pixel sees are runs
// of bytes that lie together, at the same distances for all pixels. x is read where it lies, unless
// it has pads, is signed, or its runs are no whole fours: then lines of it are copied, with pads,
// as u8.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/core/window_axis.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t segment_pixels = 7;  // at most

struct PixelSegment {
  const std::byte* x;           // what the first of its pixels sees
  std::int64_t pixel, skipped;  // the first pixel of y that is stored, and those before it
};

class QuantizedSegments {
 public:
  // x [N, C, spatial...], w [M, C, kernel...], y [N, M, spatial...], one or two spatial axes.
  QuantizedSegments(const View& x, const Dims& w, const Dims& y, const ConvolutionWindow& window);

  // Pixels of the first segment of a pair and of the second.
  const std::array<std::int64_t, 2>& lengths() const { return lengths_; }
  std::int64_t pixel_bytes() const { return x_.stride * channels_; }  // from pixel to pixel
  std::int64_t taps_in_run() const { return x_.dilation == 1 ? x_.kernel : 1; }
  std::int64_t run_bytes() const { return taps_in_run() * channels_; }
  // Where the runs of a pixel begin.
  const std::vector<std::int64_t>& run_at() const { return run_at_; }

  bool copies() const { return !direct_; }

  // Grains are cut into parts: pixels beside each other, which are an even number of segments but
  // for the last ones.
  std::int64_t grains() const { return ceil_divide(lines_, lines_in_grain_); }
  std::int64_t grain_pixels() const { return lines_in_grain_ * pixels_in_line_; }
  std::int64_t most_segments(std::int64_t grains) const {
    return grains * lines_in_grain_ * segments_in_line_;
  }
  std::int64_t copy_bytes(std::int64_t grains) const;  // at most, of a part

  // Lists the segments of grains [begin, end) and returns how many there are. `zero`: of x as u8.
  std::int64_t list(const std::byte* x, std::int64_t begin, std::int64_t end, std::uint8_t zero,
                    std::byte* copies, PixelSegment* segments) const;

 private:
  void cut_flat(std::int64_t pixels);
  std::int64_t list_flat(const std::byte* x, std::int64_t begin, std::int64_t end,
                         std::byte* copies, PixelSegment* segments) const;
  void copy_lines(const std::byte* image, std::int64_t first, std::int64_t count, std::uint8_t zero,
                  std::byte* to) const;
  void copy(const std::byte* x, std::int64_t bytes, std::byte* to) const;

  WindowAxis y_, x_;
  std::int64_t channels_;
  bool is_signed_;
  bool flat_ = true;  // x is one line of all pixels, and so is y, cut into lines of one pair
  bool direct_;
  std::array<std::int64_t, 2> lengths_;
  std::int64_t lines_, pixels_in_line_, segments_in_line_, lines_in_grain_;  // of y
  std::int64_t line_bytes_;                                                  // of x, as it is read
  std::vector<std::int64_t> run_at_;
};

}  // namespace narrowgauge::cpu
