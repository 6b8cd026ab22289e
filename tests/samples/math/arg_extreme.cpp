// SPDX-License-Identifier: Apache-2.0
#include "ops/math/arg_extreme.h"

#include <cmath>

#include "samples/samples.h"

namespace narrowgauge {

namespace {

template <Extreme kind>
std::vector<Sample<ArgExtreme<kind>>> arg_extreme_samples() {
  const SampleInput ties = sample(Tensor::from<float>({6}, std::vector<float>{1, 2, 1, 2, 1, 2}));
  const SampleInput nan = sample(Tensor::from<float>({3}, std::vector<float>{1, NAN, 2}));
  return {{{}, {sample("f32[3,5]")}},
          {{.axis = -1, .keepdims = 0}, {sample("f32[2,3,7]")}},
          {{.axis = 1}, {sample("f32[2,3,4,5]")}},
          {{.select_last_index = 1}, {ties}},
          {{}, {nan}},
          {{.axis = 1, .keepdims = 0, .select_last_index = 1}, {sample("i64[4,9]", -2, 2)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(arg_extreme, arg_extreme_samples<Extreme::largest>(),
           arg_extreme_samples<Extreme::smallest>())
