// SPDX-License-Identifier: Apache-2.0
// Weights of a convolution as tiles of AMX multiply them by pixels (pixel_lines.h): panels of 32
// channels [panels][steps][2 halves][16 rows][16 channels], of 4 bytes that are neighbours in the
// contraction; of f32 [steps][upper parts, lower parts][2 halves]...
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/tiles/tile_cut.h"

namespace narrowgauge::cpu {

class PixelWeights {
 public:
  // w [M, C, kernel...] with any strides, of i8, bf16 or f32.
  PixelWeights(const View& w, const PixelLines& lines);

  std::int64_t channels() const { return w_.dims[0]; }
  std::int64_t panels() const { return (channels() + tile_panel - 1) / tile_panel; }
  std::int64_t padded() const { return panels() * tile_panel; }
  std::int64_t step_bytes() const { return (split_ ? 2 : 1) * tile_panel_bytes; }
  std::int64_t panel_bytes() const { return steps_ * step_bytes(); }
  std::int64_t bytes() const { return panels() * panel_bytes(); }
  std::string format() const;

  void pack(const void* w, std::byte* packed) const;
  // The sum of a channel's weights, of bytes.
  std::int32_t sum(const void* w, std::int64_t channel) const;

 private:
  // Stores part(w) of each element from `packed` on.
  template <class Element, class Part>
  void pack_channel(const Element* w, std::int64_t channel, std::byte* packed,
                    const Part& part) const;

  View w_;
  std::vector<std::int64_t> at_;  // of the elements of a row, in w from a channel's first; -1: none
  std::int64_t steps_, woven_lines_;
  bool split_;
};

}  // namespace narrowgauge::cpu
