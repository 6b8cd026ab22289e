// SPDX-License-Identifier: Apache-2.0
#include "ops/random/distributions.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<RandomUniform>> random_uniform_samples() {
  return {{{.shape = {2, 3, 5}}, {}},
          {{.dtype = DType::f16, .high = 7, .low = -2, .seed = 0.5, .shape = {7}}, {}},
          {{.dtype = DType::f64, .shape = {}}, {}}};
}

std::vector<Sample<RandomUniformLike>> random_uniform_like_samples() {
  return {{{}, {sample("f32[2,3,4,5]")}},
          {{.dtype = DType::bf16, .high = 0, .low = -3, .seed = 2}, {sample("i64[3]", -9, 9)}}};
}

std::vector<Sample<RandomNormal>> random_normal_samples() {
  return {{{.shape = {2, 3, 5}}, {}},
          {{.dtype = DType::f16, .mean = 7, .scale = 0.5, .seed = 3, .shape = {7}}, {}}};
}

std::vector<Sample<RandomNormalLike>> random_normal_like_samples() {
  return {{{}, {sample("f32[2,3,4,5]")}},
          {{.dtype = DType::f64, .mean = -1, .scale = 2, .seed = 2}, {sample("bool[3]", 0, 1)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(distributions, random_uniform_samples(), random_uniform_like_samples(),
           random_normal_samples(), random_normal_like_samples())
