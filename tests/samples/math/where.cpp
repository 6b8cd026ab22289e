// SPDX-License-Identifier: Apache-2.0
#include "ops/math/where.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Where>> where_samples() {
  const auto condition = [](std::string_view type) { return sample(type, 0, 1); };
  return {{{}, {condition("bool[2,3,5]"), sample("f32[2,3,5]"), sample("f32[2,3,5]")}},
          {{}, {condition("bool[3,1]"), sample("f32[2]"), sample("f32[4,1,1]")}},
          {{}, {condition("bool[]"), sample("f32[7]"), sample("f32[]")}},
          {{}, {condition("bool[2,3,4,5]"), sample("f32[2,3,4,5]"), sample("f32[2,3,4,5]")}},
          {{}, {condition("bool[9]"), sample("i64[9]", -9, 9), sample("i64[9]", -9, 9)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(where, where_samples())
