// SPDX-License-Identifier: Apache-2.0
#include "ops/math/arithmetic.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Add>> add_samples() {
  auto all = binary_samples<Add>();
  all.push_back({{}, {sample("f32[0,3]"), sample("f32[3]")}});
  all.push_back({{}, {sample("i64[2,3]", -9, 9), sample("i64[3]", -9, 9)}});
  all.push_back({{}, {sample("f32[3,1,1040]"), sample("f32[1040]")}});
  return all;
}

std::vector<Sample<Mul>> mul_samples() {
  auto all = binary_samples<Mul>();
  all.push_back({{}, {sample("i32[4]", -9, 9), sample("i32[2,1]", -9, 9)}});
  return all;
}

std::vector<Sample<Div>> div_samples() {
  auto all = binary_samples<Div>(0.5, 2);
  all.push_back({{}, {sample("i64[12]", -9, 9), sample("i64[12]", -2, 2)}});
  return all;
}

std::vector<Sample<Neg>> neg_samples() {
  auto all = unary_samples<Neg>();
  all.push_back({{}, {sample("i32[7]", -9, 9)}});
  return all;
}

std::vector<Sample<Abs>> abs_samples() {
  auto all = unary_samples<Abs>();
  all.push_back({{}, {sample("i8[7]", -9, 9)}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(arithmetic, add_samples(), binary_samples<Sub>(), mul_samples(), div_samples(),
           neg_samples(), abs_samples(), unary_samples<Reciprocal>(0.5, 2),
           unary_samples<Sqrt>(0.5, 3))
