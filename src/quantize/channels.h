// SPDX-License-Identifier: Apache-2.0
// Where the channels of a tensor lie in memory: `outer` times, each of them has `inner` neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

struct Channels {
  std::int64_t outer = 1, count = 1, inner = 1;
};

// The channels along an axis, which counts from the last one where it is below 0. Nothing where
// there is no such axis.
inline std::optional<Channels> channels_along(const Dims& dims, int axis) {
  const auto rank = static_cast<int>(dims.size());
  const int at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) return {};
  const auto place = dims.begin() + at;
  return Channels{.outer = element_count(std::span(dims.begin(), place)),
                  .count = *place,
                  .inner = element_count(std::span(place + 1, dims.end()))};
}

// All elements as one channel.
inline Channels one_channel(const Dims& dims) { return {.inner = element_count(dims)}; }

}  // namespace narrowgauge
