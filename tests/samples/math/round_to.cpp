// SPDX-License-Identifier: Apache-2.0
#include "ops/math/round_to.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

// Samples round to f64, where finite differences see the identity and not steps.
std::vector<Sample<RoundTo>> round_to_samples() {
  return {{{DType::f64}, {sample("f32[2,9]")}}, {{DType::f64}, {sample("f32[]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(round_to, round_to_samples())
