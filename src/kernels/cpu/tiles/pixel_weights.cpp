// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_weights.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/threads/parallel.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {

PixelWeights::PixelWeights(const View& w, const PixelLines& lines)
    : w_(w), steps_(lines.steps()), woven_lines_(lines.woven_lines()), split_(lines.is_split()) {
  std::vector<std::int64_t> taps{0};
  for (std::size_t axis = 2; axis < w.dims.size(); ++axis) {
    std::vector<std::int64_t> further;
    for (const std::int64_t at : taps)
      for (std::int64_t i = 0; i < w.dims[axis]; ++i) further.push_back(at + i * w.strides[axis]);
    taps = std::move(further);
  }
  for (const std::int32_t depth : lines.depth_at())
    at_.push_back(depth < 0 ? -1
                            : taps[static_cast<std::size_t>(depth / w.dims[1])] +
                                  depth % w.dims[1] * w.strides[1]);
}

std::string PixelWeights::format() const {
  std::string text = concat("pixel tiles ", w_.dtype, ' ', steps_);
  if (woven_lines_ > 1) text += concat(" of ", woven_lines_, " woven lines");
  for (std::size_t axis = 0; axis < w_.dims.size(); ++axis)
    text += concat(' ', w_.dims[axis], '*', w_.strides[axis]);
  return text;
}

template <class Element, class Part>
void PixelWeights::pack_channel(const Element* w, std::int64_t channel, std::byte* packed,
                                const Part& part) const {
  using Stored = decltype(part(Element{}));
  constexpr std::int64_t size = sizeof(Stored), in_step = tile_step_bytes / size;
  constexpr std::int64_t neighbours = 4, row = tile_pixels * neighbours;
  const std::int64_t lane = channel % tile_panel;
  std::byte* const column = packed + channel / tile_panel * panel_bytes() +
                            lane / tile_pixels * tile_panel_bytes / 2 +
                            lane % tile_pixels * neighbours;
  w += channel * w_.strides[0];
  for (std::int64_t step = 0; step < steps_; ++step)
    for (std::int64_t i = 0; i < in_step; ++i) {
      const std::int64_t at = at_[static_cast<std::size_t>(step * in_step + i)];
      if (at < 0) continue;
      const Stored stored = part(w[at]);
      std::memcpy(
          column + step * step_bytes() + i * size / neighbours * row + i * size % neighbours,
          &stored, size);
    }
}

namespace {

// The two bf16 whose sum is x, as split_tiles.amx.h splits.
std::uint16_t upper_part(float x) {
  constexpr std::uint32_t last_to_round = 0x7f7f8000, half = 0x8000;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits & 0x7fffffff) < last_to_round ? bits + half : bits;
  return static_cast<std::uint16_t>(rounded >> 16);
}

std::uint16_t lower_part(float x) {
  constexpr std::uint32_t infinity = 0x7f800000, half = 0x8000;
  if ((std::bit_cast<std::uint32_t>(x) & 0x7fffffff) >= infinity) return 0;
  const float upper = std::bit_cast<float>(std::uint32_t{upper_part(x)} << 16);
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(x - upper) + half) >> 16);
}

}  // namespace

void PixelWeights::pack(const void* w, std::byte* packed) const {
  std::fill_n(packed, bytes(), std::byte{0});
  const auto whole = [](auto element) { return element; };
  parallel_for(channels(), tile_panel, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) switch (w_.dtype) {
        case DType::f32:
          pack_channel(static_cast<const float*>(w), channel, packed, upper_part);
          pack_channel(static_cast<const float*>(w), channel, packed + tile_panel_bytes,
                       lower_part);
          break;
        case DType::bf16:
          pack_channel(static_cast<const std::uint16_t*>(w), channel, packed, whole);
          break;
        default:
          pack_channel(static_cast<const std::int8_t*>(w), channel, packed, whole);
      }
  });
}

std::int32_t PixelWeights::sum(const void* w, std::int64_t channel) const {
  const auto* const from = static_cast<const std::int8_t*>(w) + channel * w_.strides[0];
  std::int32_t sum = 0;
  for (const std::int64_t at : at_)
    if (at >= 0) sum += from[at];
  return sum;
}

}  // namespace narrowgauge::cpu
