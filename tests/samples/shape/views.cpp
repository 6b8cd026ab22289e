// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/views.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Reshape>> reshape_samples() {
  return {{{}, {sample("f32[2,6]"), sample_list({3, 4})}},
          {{}, {sample("f32[2,3,4]"), sample_list({0, -1})}},
          {{}, {sample("f32[2,3,4]"), sample_list({-1})}},
          {{}, {sample("f32[1]"), sample_list({})}},
          {{.allowzero = 1}, {sample("f32[0,3]"), sample_list({3, 0})}},
          {{}, {sample("i64[6]", -9, 9), sample_list({2, -1, 1})}}};
}

std::vector<Sample<Flatten>> flatten_samples() {
  return {{{}, {sample("f32[2,3,4,5]")}},
          {{0}, {sample("f32[2,3]")}},
          {{-1}, {sample("f32[2,3,4]")}},
          {{2}, {sample("f32[2,3]")}},
          {{0}, {sample("f32[]")}}};
}

std::vector<Sample<Squeeze>> squeeze_samples() {
  return {{{}, {sample("f32[1,3,1]")}},
          {{}, {sample("f32[1,3,1]"), sample_list({-1})}},
          {{}, {sample("f32[2,1,1,5]"), sample_list({2, 1})}}};
}

std::vector<Sample<Unsqueeze>> unsqueeze_samples() {
  return {{{}, {sample("f32[3]"), sample_list({0, -1})}},
          {{}, {sample("f32[2,3]"), sample_list({1})}},
          {{}, {sample("f32[]"), sample_list({0})}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(views, reshape_samples(), flatten_samples(), squeeze_samples(), unsqueeze_samples())
