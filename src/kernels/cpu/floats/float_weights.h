// SPDX-License-Identifier: Apache-2.0
// Weights [M, C, kernel...] of f32 packed as panels [taps][C][vectors of 16 output channels],
// behind a row of zeros that stands for pixels outside of the image. The last panels are a vector
// narrower than the others where that spares an empty one.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/core/view.h"
#include "kernels/cpu/core/work.h"
#include "kernels/cpu/floats/float_rows.h"

namespace narrowgauge::cpu {

// The vectors of a panel with which so many pixels are multiplied fastest.
std::int64_t fastest_panel_vectors(const View& w, std::int64_t pixels);

class FloatWeights {
 public:
  FloatWeights(const View& w, std::int64_t panel_vectors);

  std::int64_t outputs() const { return w_.dims[0]; }
  std::int64_t depth() const { return w_.dims[1]; }
  std::int64_t taps() const { return std::ssize(tap_at_); }
  std::int64_t panels() const { return panels_; }
  // The most pixels in a block that a panel multiplies: as many as have their sums in registers.
  std::int64_t block_pixels() const { return float_block_pixels(panel_vectors_); }

  // The first output channel of a panel, and how many there are.
  std::int64_t column(std::int64_t panel) const {
    return 16 * (panel * (panel_vectors_ - 1) + std::min(panel, wide_panels_));
  }
  std::int64_t columns(std::int64_t panel) const {
    return std::min(width(panel), outputs() - column(panel));
  }

  std::string format() const;
  std::int64_t bytes() const;
  void pack(const float* w, float* packed) const;

  static const float* zeros(const float* packed) { return packed; }
  const float* panel(const float* packed, std::int64_t panel) const {
    return packed + zero_count() + column(panel) * depth() * taps();
  }
  std::int64_t panel_size(std::int64_t panel) const { return width(panel) * depth() * taps(); }

 private:
  std::int64_t width(std::int64_t panel) const {
    return 16 * (panel_vectors_ - (panel < wide_panels_ ? 0 : 1));
  }
  std::int64_t zero_count() const { return round_up(depth(), 16); }
  void pack_panel(const float* w, std::int64_t panel, float* packed) const;

  View w_;
  std::int64_t panel_vectors_, panels_, wide_panels_;
  std::vector<std::int64_t> tap_at_;
};

}  // namespace narrowgauge::cpu
