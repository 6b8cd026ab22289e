// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/expand.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Expand>> expand_samples() {
  return {{{}, {sample("f32[3,1]"), sample_list({3, 4})}},
          {{}, {sample("f32[3,1]"), sample_list({2, 1, 5})}},
          {{}, {sample("f32[]"), sample_list({2, 3})}},
          {{}, {sample("f32[2,3]"), sample_list({})}},
          {{}, {sample("i64[3,1]", -9, 9), sample_list({3, 2})}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(expand, expand_samples())
