// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_weights.h"

#include <algorithm>

#include "base/threads/parallel.h"

namespace narrowgauge::cpu {

// Three vectors take fewer loads for each product than two, but a panel is read for every 9 pixels
// instead of 14: that is dear where panels are long or pixels few. Four vectors are two pairs.
std::int64_t fastest_panel_vectors(const View& w, std::int64_t pixels) {
  const std::int64_t vectors = ceil_divide(w.dims[0], 16);
  const bool single_tap = element_count(w.dims) == w.dims[0] * w.dims[1];
  const bool few_pixels = pixels <= 4 * float_block_pixels(2);
  return vectors < 3 || vectors == 4 || !single_tap || few_pixels ? 2 : 3;
}

FloatWeights::FloatWeights(const View& w, std::int64_t panel_vectors)
    : w_(w), panel_vectors_(panel_vectors), tap_at_{0} {
  const std::int64_t vectors = ceil_divide(outputs(), 16);
  panels_ = ceil_divide(vectors, panel_vectors_);
  wide_panels_ = vectors - panels_ * (panel_vectors_ - 1);
  for (std::size_t axis = 2; axis < w.dims.size(); ++axis) {
    std::vector<std::int64_t> further;
    for (const std::int64_t at : tap_at_)
      for (std::int64_t i = 0; i < w.dims[axis]; ++i) further.push_back(at + i * w.strides[axis]);
    tap_at_ = std::move(further);
  }
}

std::string FloatWeights::format() const {
  std::string text = concat("f32 panels of ", 16 * panel_vectors_);
  for (std::size_t axis = 0; axis < w_.dims.size(); ++axis)
    text += concat(' ', w_.dims[axis], '*', w_.strides[axis]);
  return text;
}

std::int64_t FloatWeights::bytes() const {
  return 4 * (zero_count() + round_up(outputs(), 16) * depth() * taps());
}

void FloatWeights::pack(const float* w, float* packed) const {
  std::fill_n(packed, zero_count(), 0.0F);
  parallel_for(panels(), 1, [&](std::int64_t panel, std::int64_t) {
    pack_panel(w, panel, packed + zero_count() + column(panel) * depth() * taps());
  });
}

void FloatWeights::pack_panel(const float* w, std::int64_t panel, float* packed) const {
  const std::int64_t width = this->width(panel);
  for (std::int64_t c = 0; c < width; ++c) {
    const std::int64_t output = column(panel) + c;
    const float* const weights = w + std::min(output, outputs() - 1) * w_.strides[0];
    for (std::int64_t tap = 0; tap < taps(); ++tap)
      for (std::int64_t k = 0; k < depth(); ++k)
        packed[(tap * depth() + k) * width + c] =
            output < outputs() ? weights[tap_at_[static_cast<std::size_t>(tap)] + k * w_.strides[1]]
                               : 0.0F;
  }
}

}  // namespace narrowgauge::cpu
