// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_weights.h"

#include <algorithm>

namespace narrowgauge::cpu {

QuantizedWeights::QuantizedWeights(const View& w, std::int64_t groups, const QuantizedTier& tier)
    : w_(w),
      groups_(groups),
      tier_(&tier),
      in_group_(w.dims[0] / groups),
      channels_(w.dims[1]),
      taps_(1),
      tap_at_{0} {
  for (std::size_t axis = 2; axis < w.dims.size(); ++axis) {
    std::vector<std::int64_t> further;
    for (const std::int64_t at : tap_at_)
      for (std::int64_t i = 0; i < w.dims[axis]; ++i) further.push_back(at + i * w.strides[axis]);
    tap_at_ = std::move(further);
  }
  taps_ = std::ssize(tap_at_);
}

std::string QuantizedWeights::format() const {
  std::string text = concat(tier_->name, ' ', w_.dtype, ' ', groups_);
  for (std::size_t axis = 0; axis < w_.dims.size(); ++axis)
    text += concat(' ', w_.dims[axis], '*', w_.strides[axis]);
  return text;
}

void QuantizedWeights::pack_panel(const std::uint8_t* w, std::int64_t index,
                                  std::byte* packed) const {
  const std::int64_t group = index / panels(), first = index % panels() * quantized_panel;
  std::byte* const panel = packed + index * panel_bytes();
  std::fill_n(panel, panel_bytes(), std::byte{0});
  auto* const sums = reinterpret_cast<std::int32_t*>(packed + sums_at()) + index * quantized_panel;
  const std::uint8_t flip = w_.dtype == DType::u8 ? 0x80 : 0;
  for (std::int64_t c = 0; c < quantized_panel; ++c) {
    sums[c] = 0;
    if (first + c >= in_group_) continue;
    const std::uint8_t* const column = w + (group * in_group_ + first + c) * w_.strides[0];
    std::int64_t k = 0;
    for (const std::int64_t tap : tap_at_)
      for (std::int64_t channel = 0; channel < channels_; ++channel, ++k) {
        const auto stored = static_cast<std::uint8_t>(column[tap + channel * w_.strides[1]] ^ flip);
        sums[c] += static_cast<std::int8_t>(stored);
        panel[(k / tier_->group * quantized_panel + c) * tier_->group + k % tier_->group] =
            std::byte{stored};
      }
  }
}

void QuantizedWeights::pack(const void* w, std::byte* packed) const {
  parallel_for(groups_ * panels(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index)
      pack_panel(static_cast<const std::uint8_t*>(w), index, packed);
  });
}

}  // namespace narrowgauge::cpu
