// SPDX-License-Identifier: Apache-2.0
#include "ops/math/comparison.h"

#include "ops/no_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

SampleInput special_values() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  return sample(Tensor::from<float>({5}, std::vector<float>{nan, infinity, -infinity, 0, -3}));
}

}  // namespace

std::vector<Sample<IsNaN>> IsNaN::samples() {
  return {{{}, {special_values()}}, {{}, {sample("f32[2,3]")}}};
}

std::vector<Sample<IsInf>> IsInf::samples() {
  return {{{}, {special_values()}},
          {{.detect_negative = 0}, {special_values()}},
          {{.detect_positive = 0}, {special_values()}}};
}

}  // namespace narrowgauge

NG_OPS(comparison, narrowgauge::Equal, narrowgauge::Greater, narrowgauge::GreaterOrEqual,
       narrowgauge::Less, narrowgauge::LessOrEqual, narrowgauge::IsNaN, narrowgauge::IsInf)
NG_NO_GRADIENT(comparison, "logical", narrowgauge::Equal, narrowgauge::Greater,
               narrowgauge::GreaterOrEqual, narrowgauge::Less, narrowgauge::LessOrEqual,
               narrowgauge::IsNaN, narrowgauge::IsInf)
