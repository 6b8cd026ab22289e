// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/causal_conv.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<CausalConvWithState>> causal_conv_with_state_samples() {
  return {
      {{}, {sample("f32[2,3,5]"), sample("f32[3,1,4]")}},
      {{"silu"},
       {sample("f32[2,2,2]"), sample("f32[2,1,4]"), sample("f32[2]"), sample("f32[2,2,3]")}},
      {{}, {sample("f32[2,2,3]"), sample("f32[2,1,1]"), sample("f32[2]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(causal_conv, causal_conv_with_state_samples())
