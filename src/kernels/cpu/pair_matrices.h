// SPDX-License-Identifier: Apache-2.0
// The operands of a matrix product as the kernels of pairs and bytes walk through them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/contraction.h"

namespace narrowgauge::cpu {

// The axes of one matrix, and those of the batch with strides of a, b and y.
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

// Batches of a that meet one b are rows of one matrix where they lie so.
Matrices matrices_of(const MatMulViews& views);

// On the tiles of AMX, for views without a reason to decline (pair_products.h).
Prepared prepare_dfp16_tiles(const MatMulViews& views, int threads);

}  // namespace narrowgauge::cpu
