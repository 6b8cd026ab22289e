// SPDX-License-Identifier: Apache-2.0
#include "ops/axes/pad_segments.h"

#include <algorithm>

namespace narrowgauge {

namespace {

// The element of an axis of `size` for `position`, which may be outside; -1: none.
std::int64_t source_at(std::string_view mode, std::int64_t size, std::int64_t position) {
  if (position >= 0 && position < size) return position;
  if (mode == "edge") return std::clamp<std::int64_t>(position, 0, size - 1);
  if (mode == "wrap") return (position % size + size) % size;
  if (mode == "reflect") {
    if (size == 1) return 0;
    const std::int64_t period = 2 * (size - 1);
    const std::int64_t within = (position % period + period) % period;
    return within < size ? within : period - within;
  }
  return -1;
}

}  // namespace

PadSources pad_sources(std::string_view mode, std::int64_t size, PadAmount pad) {
  PadSources sources;
  for (std::int64_t i = -pad.before; i < size + pad.after; ++i)
    sources.add(source_at(mode, size, i));
  return sources;
}

std::vector<PadSegment> pad_segments(std::string_view mode, std::int64_t size, PadAmount pad) {
  std::vector<PadSegment> segments;
  const auto sources = pad_sources(mode, size, pad);
  for (std::int64_t i = 0; i < sources.size(); ++i) {
    const bool outside = sources[i] < 0;
    if (!segments.empty() && segments.back().outside == outside) {
      PadSegment& last = segments.back();
      const std::int64_t step = outside ? 0 : sources[i] - sources[i - 1];
      if (last.size == 1) last.step = step;
      if (last.step == step) {
        ++last.size;
        continue;
      }
    }
    segments.push_back({i, 1, outside ? 0 : sources[i], 0, outside});
  }
  return segments;
}

Shape padded_shape(std::string_view op, std::string_view mode, const Shape& shape,
                   const Dims& pads) {
  require(mode == "constant" || mode == "edge" || mode == "reflect" || mode == "wrap", op,
          ": mode must be constant, edge, reflect or wrap, got '", mode, "'");
  require(pads.size() == 2 * shape.size(), op, ": ", shape, " needs ", 2 * shape.size(),
          " pads, got ", pads);
  // Bounds the pads so that sums of a size and two pads cannot overflow.
  const auto legal = [](std::int64_t pad) { return pad >= INT32_MIN && pad <= INT32_MAX; };
  require(std::all_of(pads.begin(), pads.end(), legal), op,
          ": pads must be of less than 2^31 elements, got ", pads);
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto [before, after] = pad_along(pads, i);
    result.push_back(shape[i] + (before + after));
    require(!result.back().is_known() || result.back().value() >= 0, op, ": pads ", pads,
            " leave nothing of ", shape);
    require(mode == "constant" || shape[i] != Dim(0) || result.back() == Dim(0), op, ": mode ",
            mode, " has nothing to copy along axis ", i, " of ", shape);
  }
  return result;
}

}  // namespace narrowgauge
