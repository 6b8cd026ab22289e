// SPDX-License-Identifier: Apache-2.0
#include "ops/math/comparison.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

// Samples are whole numbers, so that some are equal.
template <class Op>
std::vector<Sample<Op>> comparison_samples() {
  std::vector<Sample<Op>> all = binary_samples<Op>();
  const Tensor row = Tensor::from<float>({3}, std::vector<float>{-1, 0, 1});
  const Tensor column = Tensor::from<float>({3, 1}, std::vector<float>{-1, 0, 1});
  all.push_back({{}, {sample(row), sample(column)}});
  all.push_back({{}, {sample("i64[17]", -1, 1), sample("i64[17]", -1, 1)}});
  return all;
}

SampleInput special_values() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  return sample(Tensor::from<float>({5}, std::vector<float>{nan, infinity, -infinity, 0, -3}));
}

std::vector<Sample<IsNaN>> is_na_n_samples() {
  return {{{}, {special_values()}}, {{}, {sample("f32[2,3]")}}};
}

std::vector<Sample<IsInf>> is_inf_samples() {
  return {{{}, {special_values()}},
          {{.detect_negative = 0}, {special_values()}},
          {{.detect_positive = 0}, {special_values()}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(comparison, comparison_samples<Equal>(), comparison_samples<Greater>(),
           comparison_samples<GreaterOrEqual>(), comparison_samples<Less>(),
           comparison_samples<LessOrEqual>(), is_na_n_samples(), is_inf_samples())
