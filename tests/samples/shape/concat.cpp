// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/concat.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Concat>> concat_samples() {
  return {{{1}, {sample("f32[2,3]"), sample("f32[2,1]"), sample("f32[2,4]")}},
          {{-3}, {sample("f32[2,3,4,5]"), sample("f32[2,2,4,5]")}},
          {{0}, {sample("f32[3]"), sample("f32[0]")}},
          {{0}, {sample("f32[2,3]")}},
          {{-1}, {sample("i64[2,2]", -9, 9), sample("i64[2,1]", -9, 9)}}};
}

std::vector<Sample<Split>> split_samples() {
  const SampleInput sizes = sample(list_of(Dims{2, 0, 3}));
  return {{{.axis = 1, .num_outputs = 2}, {sample("f32[2,4,3]")}},
          {{.axis = -1, .num_outputs = 3}, {sample("f32[2,8]")}},
          {{.axis = 1}, {sample("f32[2,5,3,2]"), sizes}},
          {{.axis = 0}, {sample("i64[5]", -9, 9), sizes}}};
}

std::vector<Sample<ConcatGradient>> concat_gradient_samples() {
  return {{{1, {3, 1}}, {sample("f32[2,4,3,2]")}}, {{-1, {1, 0, 4}}, {sample("f32[3,5]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(concat, concat_samples(), split_samples(), concat_gradient_samples())
