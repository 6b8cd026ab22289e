// SPDX-License-Identifier: Apache-2.0
// Where the input channels under a convolution's window lie: for each pixel of y and each tap.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

class FloatWindow {
 public:
  // x [N, C, spatial...] with any strides, w [M, C, kernel...], y [N, M, spatial...].
  FloatWindow(const View& x, const Dims& w, const Dims& y, const ConvolutionWindow& window);

  std::int64_t rows() const { return rows_; }  // pixels of y in all images
  std::int64_t taps() const { return taps_; }
  // Whether row i is what lies at x + i * depth.
  bool is_dense() const { return is_dense_; }

  // The place in x behind all that the first `rows` pixels of y see.
  std::int64_t reach(std::int64_t rows) const;

  // Writes [taps][float_block_rows] pointers for `count` rows from `first` on: `zeros` where a tap
  // is outside of the image, and null for row 0 where it is for all of these rows.
  void locate(const float* x, const float* zeros, std::int64_t first, std::int64_t count,
              const float** pointers) const;

 private:
  struct Axis {
    const std::int64_t* at(std::int64_t tap, std::int64_t place) const {
      return offsets.data() + tap * size + place;
    }

    std::int64_t size = 1, kernel = 1;     // of y, of the window
    std::vector<std::int64_t> offsets{0};  // [kernel][size] in x; below 0: outside
    std::vector<std::int64_t> last{0};     // for each place: its last tap inside
  };
  // Locates the taps of pixels that follow each other in a line of y.
  void locate_run(const float* image, const std::array<std::int64_t, 3>& place, std::int64_t count,
                  const float* zeros, const float** pointers) const;

  std::array<Axis, 3> axes_;  // z, y, x
  std::int64_t image_stride_, depth_, rows_, taps_;
  bool is_dense_;
};

}  // namespace narrowgauge::cpu
