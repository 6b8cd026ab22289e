// SPDX-License-Identifier: Apache-2.0
// A tensor as lines along one axis, for the loops of reference kernels, and indices along an axis.
#pragma once

#include "narrowgauge/tensor.h"

namespace narrowgauge {

struct Lines {
  std::int64_t length = 1;  // of each line
  std::int64_t inner = 1;   // distance between neighbours of a line
  std::int64_t count = 1;   // of lines

  Lines(const Dims& dims, std::size_t axis) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (i == axis)
        length = dims[i];
      else
        count *= dims[i];
      if (i > axis) inner *= dims[i];
    }
  }
  // The row-major index of element k of a line.
  std::int64_t at(std::int64_t line, std::int64_t k) const {
    return (line / inner * length + k) * inner + line % inner;
  }
};

// Settles an index that may count from the end; throws DataError if it is outside the axis.
inline std::int64_t settled_index(std::string_view op, std::int64_t index, std::int64_t size) {
  require<DataError>(index >= -size && index < size, op, ": index ", index,
                     " is outside an axis of ", size);
  return index < 0 ? index + size : index;
}

}  // namespace narrowgauge
