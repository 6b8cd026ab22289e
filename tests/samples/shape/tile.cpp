// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/tile.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Tile>> tile_samples() {
  return {{{}, {sample("f32[2,3]"), sample_list({1, 2})}},
          {{}, {sample("f32[3,2,1,5]"), sample_list({2, 1, 3, 1})}},
          {{}, {sample("f32[]"), sample_list({})}},
          {{}, {sample("f32[3]"), sample_list({0})}},
          {{}, {sample("i64[2,2]", -9, 9), sample_list({3, 1})}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(tile, tile_samples())
