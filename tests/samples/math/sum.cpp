// SPDX-License-Identifier: Apache-2.0
#include "ops/math/sum.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

template <class Op>
std::vector<Sample<Op>> sum_samples() {
  return {{{}, {sample("f32[2,3,5]"), sample("f32[2,3,5]")}},
          {{}, {sample("f32[5]")}},
          {{}, {sample("f32[3,1]"), sample("f32[4]"), sample("f32[]"), sample("f32[3,4]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(sum, sum_samples<Sum>(), sum_samples<Mean>())
