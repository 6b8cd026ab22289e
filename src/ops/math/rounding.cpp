// SPDX-License-Identifier: Apache-2.0
#include "ops/math/rounding.h"

#include "ops/no_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

std::vector<Sample<Sign>> Sign::samples() {
  auto all = unary_samples<Sign>();
  all.push_back({{}, {sample("i32[9]", -2, 2)}});
  all.push_back({{}, {sample(Tensor::from<float>({3}, {0.0F, -0.0F, 2.0F}))}});
  return all;
}

std::vector<Sample<Round>> Round::samples() {
  auto all = unary_samples<Round>(-3, 3);
  all.push_back({{}, {sample(Tensor::from<float>({4}, {0.5F, 1.5F, -0.5F, -2.5F}))}});
  return all;
}

}  // namespace narrowgauge

NG_OPS(rounding, narrowgauge::Sign, narrowgauge::Floor, narrowgauge::Ceil, narrowgauge::Round)
NG_NO_GRADIENT(rounding, "constant almost everywhere", narrowgauge::Sign, narrowgauge::Floor,
               narrowgauge::Ceil, narrowgauge::Round)
