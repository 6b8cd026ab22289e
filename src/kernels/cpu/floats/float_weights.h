// SPDX-License-Identifier: Apache-2.0
// Weights [M, C, kernel...] of f32 packed as panels [taps][C][32 output channels], behind a row of
// zeros that stands for pixels outside of the image.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/core/view.h"
#include "kernels/cpu/core/work.h"
#include "kernels/cpu/floats/float_rows.h"

namespace narrowgauge::cpu {

class FloatWeights {
 public:
  explicit FloatWeights(const View& w);

  std::int64_t outputs() const { return w_.dims[0]; }
  std::int64_t depth() const { return w_.dims[1]; }
  std::int64_t taps() const { return std::ssize(tap_at_); }
  std::int64_t panels() const { return ceil_divide(outputs(), float_panel); }
  std::int64_t columns(std::int64_t panel) const {
    return std::min(float_panel, outputs() - panel * float_panel);
  }

  std::string format() const;
  std::int64_t bytes() const;
  void pack(const float* w, float* packed) const;

  static const float* zeros(const float* packed) { return packed; }
  const float* panel(const float* packed, std::int64_t panel) const {
    return packed + zero_count() + panel * panel_size();
  }
  std::int64_t panel_size() const { return float_panel * depth() * taps(); }

 private:
  // A panel of up to 16 channels is that wide.
  std::int64_t width(std::int64_t panel) const { return round_up(columns(panel), 16); }
  std::int64_t zero_count() const { return round_up(depth(), 16); }
  void pack_panel(const float* w, std::int64_t panel, float* packed) const;

  View w_;
  std::vector<std::int64_t> tap_at_;
};

}  // namespace narrowgauge::cpu
