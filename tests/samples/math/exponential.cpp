// SPDX-License-Identifier: Apache-2.0
#include "ops/math/exponential.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Pow>> pow_samples() {
  auto all = binary_samples<Pow>(0.5, 2);
  all.push_back({{}, {sample("f32[5]"), sample(Tensor::scalar(DType::i64, 3))}});
  all.push_back({{}, {sample("f32[5]"), sample(Tensor::scalar(DType::i64, 0))}});
  all.push_back({{}, {sample("i64[2,5]", -3, 3), sample("i64[5]", -2, 4)}});
  return all;
}

std::vector<Sample<PowGradientBase>> pow_gradient_base_samples() {
  const SampleInput x = sample("f32[2,3]", 0.5, 2);
  return {{{}, {x, sample("f32[3]"), sample("f32[2,3]")}},
          {{}, {x, sample(Tensor::scalar(DType::f32, 0)), sample("f32[2,3]")}}};
}

std::vector<Sample<PowGradientExponent>> pow_gradient_exponent_samples() {
  return {{{}, {sample("f32[2,3]", 0.5, 2), sample("f32[2,3]", 0.5, 2), sample("f32[2,3]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(exponential, unary_samples<Exp>(), unary_samples<Log>(0.5, 3), unary_samples<Sin>(-3, 3),
           unary_samples<Cos>(-3, 3), pow_samples(), pow_gradient_base_samples(),
           pow_gradient_exponent_samples())
