// SPDX-License-Identifier: Apache-2.0
// Where the elements of a padded axis come from.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/indexed_vector.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Elements [to, to + size) of the padded axis are the elements from, from + step, ... of the axis;
// with `outside` they are no elements of it.
struct PadSegment {
  std::int64_t to, size, from, step;
  bool outside;
};

struct PadAmount {
  std::int64_t before, after;
};

// The segments in order, none empty, covering size + before + after elements.
std::vector<PadSegment> pad_segments(std::string_view mode, std::int64_t size, PadAmount pad);
// The source of each element of a padded axis; -1: none.
using PadSources = IndexedVector<std::int64_t, std::int64_t>;
PadSources pad_sources(std::string_view mode, std::int64_t size, PadAmount pad);

// The shape after padding; `pads` are those of all axes. Throws UsageError naming the op if the
// mode is unknown or the pads do not fit.
Shape padded_shape(std::string_view op, std::string_view mode, const Shape& shape,
                   const Dims& pads);
inline PadAmount pad_along(const Dims& pads, std::size_t axis) {
  return {pads[axis], pads[pads.size() / 2 + axis]};
}

}  // namespace narrowgauge
