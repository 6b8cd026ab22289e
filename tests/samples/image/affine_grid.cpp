// SPDX-License-Identifier: Apache-2.0
#include "ops/image/affine_grid.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<AffineGrid>> affine_grid_samples() {
  return {
      {{}, {sample("f32[2,2,3]"), sample(list_of(Dims{2, 3, 4, 5}))}},
      {{1}, {sample("f32[2,3,4]"), sample(list_of(Dims{2, 1, 2, 1, 3}))}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(affine_grid, affine_grid_samples())
