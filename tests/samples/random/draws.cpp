// SPDX-License-Identifier: Apache-2.0
#include "ops/random/draws.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Bernoulli>> bernoulli_samples() {
  return {{{}, {sample("f32[2,3,4,5]", 0, 1)}},
          {{.dtype = DType::boolean, .seed = 7}, {sample("f32[5]", 0, 1)}},
          {{.dtype = DType::i64}, {sample("f32[3,2]", -1, 2)}}};
}

std::vector<Sample<Multinomial>> multinomial_samples() {
  return {{{}, {sample("f32[3,5]")}},
          {{.dtype = DType::i64, .sample_size = 4, .seed = 0}, {sample("f32[2,1]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(draws, bernoulli_samples(), multinomial_samples())
