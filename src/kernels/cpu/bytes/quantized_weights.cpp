// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_weights.h"

#include <algorithm>
#include <atomic>

namespace narrowgauge::cpu {

QuantizedWeights::QuantizedWeights(const View& w, std::int64_t groups, const QuantizedTier& tier,
                                   std::int64_t taps_in_run)
    : w_(w),
      groups_(groups),
      tier_(&tier),
      in_group_(w.dims[0] / groups),
      channels_(w.dims[1]),
      steps_(0),
      tap_at_{0},
      taps_in_run_(taps_in_run) {
  for (std::size_t axis = 2; axis < w.dims.size(); ++axis) {
    std::vector<std::int64_t> further;
    for (const std::int64_t at : tap_at_)
      for (std::int64_t i = 0; i < w.dims[axis]; ++i) further.push_back(at + i * w.strides[axis]);
    tap_at_ = std::move(further);
  }
  const std::int64_t taps = std::ssize(tap_at_);
  if (taps_in_run_ == 0) taps_in_run_ = taps;
  steps_ = taps / taps_in_run_ * ceil_divide(taps_in_run_ * channels_, tier.group);
}

std::string QuantizedWeights::format() const {
  std::string text = concat(tier_->name, ' ', w_.dtype, ' ', groups_, ' ', taps_in_run_);
  for (std::size_t axis = 0; axis < w_.dims.size(); ++axis)
    text += concat(' ', w_.dims[axis], '*', w_.strides[axis]);
  return text;
}

QuantizedColumns QuantizedWeights::panel(const std::byte* packed, std::int64_t group,
                                         std::int64_t panel) const {
  const std::byte* const at = packed + (group * panels() + panel) * panel_bytes();
  if (!tier_->saturates) return {at, steps(), nullptr};
  const auto* const places = reinterpret_cast<const std::int32_t*>(at + places_at());
  return {at, places[most_groups()], places};
}

void QuantizedWeights::pack_plain(const std::uint8_t* w, std::int64_t index, std::byte* panel,
                                  std::int32_t* sums) const {
  const std::int64_t group = index / panels(), first = index % panels() * quantized_panel;
  const std::uint8_t flip = w_.dtype == DType::u8 ? 0x80 : 0;
  for (std::int64_t c = 0; c < quantized_panel; ++c) {
    sums[c] = 0;
    if (first + c >= in_group_) continue;
    const std::uint8_t* const column = w + (group * in_group_ + first + c) * w_.strides[0];
    std::int64_t k = 0;
    for (std::int64_t tap = 0; tap < std::ssize(tap_at_); ++tap) {
      if (tap % taps_in_run_ == 0) k = round_up(k, tier_->group);
      const std::uint8_t* const from = column + tap_at_[static_cast<std::size_t>(tap)];
      for (std::int64_t channel = 0; channel < channels_; ++channel, ++k) {
        const auto stored = static_cast<std::uint8_t>(from[channel * w_.strides[1]] ^ flip);
        sums[c] += static_cast<std::int8_t>(stored);
        panel[(k / tier_->group * quantized_panel + c) * tier_->group + k % tier_->group] =
            std::byte{stored};
      }
    }
  }
}

namespace {

// Whether the sum of two products with any u8 fits into 16 bits, for each pair of weights.
bool pairs_fit(const std::byte* weights, std::int64_t count) {
  constexpr int most = 128;  // 255 * 128 <= 32767
  for (std::int64_t i = 0; i < count; i += 2) {
    const int a = static_cast<std::int8_t>(weights[i]),
              b = static_cast<std::int8_t>(weights[i + 1]);
    if (std::max(a, 0) + std::max(b, 0) > most || std::min(a, 0) + std::min(b, 0) < -most)
      return false;
  }
  return true;
}

}  // namespace

bool QuantizedWeights::pack_panel(const std::uint8_t* w, std::int64_t index,
                                  std::byte* packed) const {
  std::byte* const panel = packed + index * panel_bytes();
  auto* const sums = reinterpret_cast<std::int32_t*>(packed + sums_at()) + index * quantized_panel;
  std::fill_n(panel, panel_bytes(), std::byte{0});
  if (!tier_->saturates) {
    pack_plain(w, index, panel, sums);
    return true;
  }
  std::vector<std::byte> plain(static_cast<std::size_t>(steps() * group_bytes()));
  pack_plain(w, index, plain.data(), sums);
  auto* const places = reinterpret_cast<std::int32_t*>(panel + places_at());
  std::int32_t& count = places[most_groups()];
  for (std::int64_t step = 0; step < steps(); ++step) {
    const std::byte* const from = plain.data() + step * group_bytes();
    const bool fit = pairs_fit(from, group_bytes());
    if (count + (fit ? 1 : 2) > most_groups()) return false;
    const auto add = [&](const auto& part) {
      std::transform(from, from + group_bytes(), panel + count * group_bytes(),
                     [&](std::byte weight) {
                       return static_cast<std::byte>(part(static_cast<std::int8_t>(weight)));
                     });
      places[count++] = static_cast<std::int32_t>(step * tier_->group);
    };
    add([&](int weight) { return fit ? weight : weight / 2; });
    if (!fit) add([](int weight) { return weight - weight / 2; });
  }
  return true;
}

bool QuantizedWeights::pack(const void* w, std::byte* packed) const {
  std::atomic<bool> fits{true};
  parallel_for(groups_ * panels(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end && fits; ++index)
      if (!pack_panel(static_cast<const std::uint8_t*>(w), index, packed)) fits = false;
  });
  return fits;
}

}  // namespace narrowgauge::cpu
