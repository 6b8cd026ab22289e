// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/gelu.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<SampleInput> gelu_inputs() {
  return {sample("f32[2,3,5]", -4, 4), sample("f32[1]", -4, 4), sample("f32[2,3,4,5]", -4, 4)};
}

std::vector<Sample<Gelu>> gelu_samples() {
  std::vector<Sample<Gelu>> all;
  for (const char* approximate : {"none", "tanh"})
    for (const SampleInput& x : gelu_inputs()) all.push_back({{approximate}, {x}});
  return all;
}

std::vector<Sample<GeluGradient>> gelu_gradient_samples() {
  std::vector<Sample<GeluGradient>> all;
  for (const char* approximate : {"none", "tanh"})
    for (const SampleInput& x : gelu_inputs()) all.push_back({{approximate}, {x, x}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(gelu, gelu_samples(), gelu_gradient_samples(), unary_samples<Erf>(-3, 3),
           gradient_samples<ErfGradient>())
