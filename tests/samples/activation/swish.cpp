// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/swish.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Swish>> swish_samples() {
  auto all = unary_samples<Swish>(-4, 4);
  all.push_back({{.alpha = -1.5}, {sample("f32[33]", -4, 4)}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(swish, swish_samples(), gradient_samples<SwishGradient>(-4, 4, {.alpha = 1.5}),
           unary_samples<Mish>(-5, 5), gradient_samples<MishGradient>(-5, 5))
