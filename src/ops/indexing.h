// SPDX-License-Identifier: Apache-2.0
// Flat row-major indices and positions along the axes, for the loops of reference kernels.
#pragma once

#include "narrowgauge/tensor.h"

namespace narrowgauge {

inline Dims position_of(std::int64_t index, const Dims& dims) {
  Dims position(dims.size());
  for (std::size_t i = dims.size(); i-- > 0; index /= dims[i]) position[i] = index % dims[i];
  return position;
}

inline std::int64_t index_of(const Dims& position, const Dims& dims) {
  std::int64_t index = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) index = index * dims[i] + position[i];
  return index;
}

}  // namespace narrowgauge
