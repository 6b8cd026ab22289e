// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/gather_elements.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<GatherElements>> gather_elements_samples() {
  return {{{}, {sample("f32[3,4]"), sample("i64[2,4]", -3, 2)}},
          {{.axis = 1}, {sample("f32[2,3,4,5]"), sample("i32[2,7,3,5]", 0, 2)}},
          {{.axis = -1}, {sample("f32[5]"), sample("i64[8]", -5, 4)}},
          {{}, {sample("i64[3]", -9, 9), sample("i64[0]", 0, 1)}}};
}

std::vector<Sample<GatherND>> gather_nd_samples() {
  return {{{}, {sample("f32[3,4]"), sample("i64[5,2]", -3, 2)}},
          {{}, {sample("f32[3,4,2]"), sample("i64[2,2,1]", 0, 2)}},
          {{.batch_dims = 1}, {sample("f32[2,3,5]"), sample("i64[2,4,1]", -3, 2)}},
          {{.batch_dims = 2}, {sample("f32[2,2,3]"), sample("i32[2,2,1]", 0, 2)}},
          {{}, {sample("i64[3,2]", -9, 9), sample("i64[1]", 0, 2)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(gather_elements, gather_elements_samples(), gather_nd_samples())
