// SPDX-License-Identifier: Apache-2.0
// The operands of a matrix product in the form that the kernels of pairs and bytes use.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

// The axes of one matrix, and the batch axes with strides of a, b and y.
struct Matrices {
  std::int64_t m, n, k;
  std::int64_t a_row, a_depth, b_depth, b_column, y_row;
  struct Axis {
    std::int64_t size, a, b, y;
  };
  std::vector<Axis> batch;

  std::int64_t count() const {
    std::int64_t count = 1;
    for (const Axis& axis : batch) count *= axis.size;
    return count;
  }
  struct Offsets {
    std::int64_t a = 0, b = 0, y = 0;
  };
  Offsets at(std::int64_t index) const {
    Offsets offsets;
    for (std::size_t i = batch.size(); i-- > 0; index /= batch[i].size) {
      const std::int64_t place = index % batch[i].size;
      offsets.a += place * batch[i].a;
      offsets.b += place * batch[i].b;
      offsets.y += place * batch[i].y;
    }
    return offsets;
  }
};

// Matrices of a that share one b become rows of one matrix if their layout allows it.
Matrices matrices_of(const MatMulViews& views);

// Multiplies on AMX tiles, for views with no reason to decline (pair_products.h).
Prepared prepare_dfp16_tiles(const MatMulViews& views, int threads);

}  // namespace narrowgauge::cpu
