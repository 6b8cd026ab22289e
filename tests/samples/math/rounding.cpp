// SPDX-License-Identifier: Apache-2.0
#include "ops/math/rounding.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Sign>> sign_samples() {
  auto all = unary_samples<Sign>();
  all.push_back({{}, {sample("i32[9]", -2, 2)}});
  all.push_back({{}, {sample(Tensor::from<float>({3}, {0.0F, -0.0F, 2.0F}))}});
  return all;
}

std::vector<Sample<Round>> round_samples() {
  auto all = unary_samples<Round>(-3, 3);
  all.push_back({{}, {sample(Tensor::from<float>({4}, {0.5F, 1.5F, -0.5F, -2.5F}))}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(rounding, sign_samples(), unary_samples<Floor>(-3, 3), unary_samples<Ceil>(-3, 3),
           round_samples())
