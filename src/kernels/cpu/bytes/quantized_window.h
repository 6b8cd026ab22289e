// SPDX-License-Identifier: Apache-2.0
// The rows of a convolution whose channels lie together: for each pixel of y the bytes of x under
// its window, tap by tap, packed for a tier.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/bytes/quantized_rows.h"
#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/core/window_axis.h"

namespace narrowgauge::cpu {

class QuantizedWindow {
 public:
  // x [N, C, spatial...], w [M, C / groups, kernel...], y [N, M, spatial...].
  QuantizedWindow(const Dims& x, const Dims& w, const Dims& y, const ConvolutionWindow& window);

  std::int64_t rows() const { return rows_; }    // pixels of all images
  std::int64_t depth() const { return depth_; }  // of a sum
  std::int64_t taps() const { return depth_ / in_group_; }
  std::int64_t channels() const { return channels_; }
  // Whether row i is what lies at x + i * channels().
  bool is_x() const { return is_x_; }

  struct Packer {
    const QuantizedTier* tier;
    QuantizedSource source;
    bool sums;  // of what is stored are wanted
  };
  // Packs rows [begin, end) of a group one behind the other, `row_bytes` each, and their sums.
  void pack(const std::byte* x, std::int64_t group, std::int64_t begin, std::int64_t end,
            const Packer& packer, std::int64_t row_bytes, std::byte* rows,
            std::int32_t* sums) const;

  const std::array<WindowAxis, 3>& axes() const { return axes_; }  // z, y, x

 private:
  class RowWriter;
  void pack_row(const std::byte* image, const std::array<std::int64_t, 3>& place,
                RowWriter& writer) const;

  std::array<WindowAxis, 3> axes_;
  std::int64_t groups_, channels_, in_group_, depth_, rows_;
  bool is_x_;
};

}  // namespace narrowgauge::cpu
