// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/reshape.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<ReshapeTo>> reshape_to_samples() {
  return {Sample<ReshapeTo>{{{3, 4}}, {sample("f32[2,6]")}},
          Sample<ReshapeTo>{{}, {sample("f32[1,1]")}}};
}

std::vector<Sample<ExpandTo>> expand_to_samples() {
  return {Sample<ExpandTo>{{{3, 4}}, {sample("f32[3,1]")}},
          Sample<ExpandTo>{{{2, 3, 5}}, {sample("f32[]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(reshape, reshape_to_samples(), expand_to_samples())
