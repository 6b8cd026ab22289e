// SPDX-License-Identifier: Apache-2.0
// Images whose channels lie together, as tiles of AMX read them for a convolution: a row of a tile
// is a pixel of the output, and along it are the bytes that lie side by side under its window, 64
// at a time. A window of one pixel reads x where it lies. Otherwise lines of x are copied with
// their pads, in an order in which pixels of the output stay the same distance apart from line to
// line. Places between the lines of the output are computed too, and left out on store.
//
// Where pixels of bytes are so small that a step holds what a window sees of several lines, these
// are interleaved: a pixel of a copied line is one of each. Where pixels are smaller than a step
// otherwise, what a pixel of the output sees of a line, or all that it sees if that is little, is
// copied together. Other pixels of bf16 are copied where they are no whole number of steps, since
// what lies behind them may be infinite. Pixels of f32 are copied as two of bf16, whose sum they
// are (split.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/core/window_axis.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t tile_pixels = 16;
inline constexpr std::int64_t tile_step_bytes = 64;

// A list of tiles.
struct PixelTiles {
  const std::byte** a;   // their first rows
  std::int32_t* pixels;  // [tiles][16], of y, one for each row; -1: none
};

// A line is a row of the output; for windows of one pixel, a pixel of it.
class PixelLines {
 public:
  // x [N, C, spatial...], w [M, C, kernel...], y [N, M, spatial...], one or two spatial axes;
  // `dtype` of x: u8, i8, bf16 or f32.
  PixelLines(DType dtype, const Dims& x, const Dims& w, const Dims& y,
             const ConvolutionWindow& window);

  bool is_flat() const { return flat_; }      // lines are pixels
  bool is_direct() const { return direct_; }  // x is read where it lies
  std::int64_t lines() const { return images_ * lines_in_image(); }
  std::int64_t lines_in_image() const { return y_.y; }
  // The bytes from row to row of a tile.
  std::int64_t row_bytes() const { return x_.stride * pixel_bytes_; }
  std::int64_t taps() const { return x_.kernel * y_.kernel; }
  std::int64_t steps() const { return std::ssize(depth_at_) * element_bytes_ / tile_step_bytes; }
  // Whether pixels are two of bf16, the lower parts so far behind the upper ones.
  bool is_split() const { return split_; }
  std::int64_t lower_at() const { return pixel_bytes_ / 2; }
  // Which [tap][channel] of a weight each element of a row meets, step by step; -1: none.
  const std::vector<std::int32_t>& depth_at() const { return depth_at_; }
  std::int64_t woven_lines() const { return woven_lines_; }

 private:
  friend class PixelParts;
  std::int64_t taps_in_run() const {
    return (whole_ || woven_lines_ > 1) && x_.dilation == 1 ? x_.kernel : 1;
  }
  std::int64_t run_bytes() const { return taps_in_run() * channels_ * element_bytes_; }
  void list_depths();
  bool weave();
  void gather();

  WindowAxis y_, x_;
  // What is woven, or gathered for a pixel: so many lines, as these axes tell.
  WindowAxis source_y_, source_x_;
  std::int64_t woven_lines_ = 1, gathered_lines_ = 0;
  std::array<std::uint8_t, 64> weave_order_{};
  bool split_;
  std::int64_t images_, channels_, element_bytes_;  // of what tiles read
  std::int64_t source_bytes_, pixel_bytes_;         // of a pixel of x, and of what tiles read
  bool whole_;                                      // pixels lie as in x
  bool flat_ = true, direct_;
  std::int64_t places_;                   // of a line, those behind its pixels among them
  std::int64_t line_bytes_;               // of a copied line of x
  std::vector<std::int64_t> remainders_;  // of the taps' lines by the stride
  std::vector<std::int32_t> depth_at_;
};

// The output cut into parts of so many lines: whole images or a part of one.
class PixelParts {
 public:
  PixelParts(const PixelLines& lines, std::int64_t lines_in_part);

  std::int64_t count() const { return parts_; }
  std::int64_t copy_bytes() const { return copy_bytes_; }                   // of what a part copies
  std::int64_t tiles() const { return images_in_part_ * tiles_in_image_; }  // of a part, at most
  std::int64_t read_bytes() const;  // of what a part's tiles read
  // Where the steps of a row are, from its beginning.
  const std::vector<std::int64_t>& step_at() const { return step_at_; }

  // The pixels of y in a part, which lie together.
  struct Pixels {
    std::int64_t first, count;
  };
  Pixels pixels(std::int64_t part) const;

  // Lists the tiles of a part and returns how many there are. What they need of x is copied;
  // pads are `zero`.
  std::int64_t load(const std::byte* x, std::int64_t part, std::uint8_t zero, std::byte* copies,
                    const PixelTiles& tiles) const;

 private:
  std::int64_t load_direct(const std::byte* x, std::int64_t part, std::byte* copies,
                           const PixelTiles& tiles) const;
  // Puts tile `index` of those of `count` pixels from the first on at a place of the list.
  void list_tile(const std::byte* a, std::int64_t index, const Pixels& of, const PixelTiles& tiles,
                 std::int64_t place) const;
  void copy_lines(const std::byte* image, std::int64_t first, std::int64_t count, std::uint8_t zero,
                  std::byte* to) const;
  void copy_line(const std::byte* x, std::uint8_t zero, std::byte* to) const;
  void weave_line(const std::byte* image, std::int64_t line, std::uint8_t zero,
                  std::byte* to) const;
  void gather_line(const std::byte* image, std::int64_t line, std::uint8_t zero,
                   std::byte* to) const;
  // Copies what pixels of the output see of one line; `to`: where the first one's part begins.
  void gather_run(const std::byte* x, std::uint8_t zero, std::byte* to) const;
  // Copies pixels of x, or parts of them, that begin `step` bytes apart; what pads them is zero
  // already.
  void copy_pixels(const std::byte* x, std::int64_t step, std::int64_t channels, std::int64_t count,
                   std::byte* to) const;
  void list_steps();
  void list_pixels();
  // How many copied lines have the same remainder.
  std::int64_t plane_lines() const;
  std::int64_t copied_image_bytes() const;

  const PixelLines& lines_;
  std::int64_t in_part_;  // lines of one image
  std::int64_t images_in_part_ = 1, parts_in_image_ = 1, parts_ = 1;
  std::int64_t tiles_in_image_ = 0, copy_bytes_ = 0;
  std::vector<std::int64_t> step_at_;
  std::vector<std::int32_t> pixels_;
};

// Lines that are read together, pixel by pixel.
struct WovenLines {
  static constexpr std::int64_t most = 4;
  const std::byte* lines[most];  // null: of pads
  std::int64_t count, channels;  // of bytes
  std::int64_t pixels;
  std::uint8_t pad;
  // Where each of 64 interleaved bytes comes from, among 32 bytes of each line.
  const std::uint8_t* order;
};

namespace amx {
// Stores up to 64 bytes behind the last pixel.
void weave_lines(const WovenLines& woven, std::byte* to);
// Copy so many bytes of `count` pixels that begin `x_step` and `to_step` bytes apart, or split
// channels of f32 into two of bf16, the lower ones half of `to_step` behind the upper ones.
void copy_pixels(const std::byte* x, std::int64_t x_step, std::int64_t bytes, std::int64_t count,
                 std::int64_t to_step, std::byte* to);
void split_pixels(const std::byte* x, std::int64_t x_step, std::int64_t channels,
                  std::int64_t count, std::int64_t to_step, std::byte* to);
}  // namespace amx

}  // namespace narrowgauge::cpu
