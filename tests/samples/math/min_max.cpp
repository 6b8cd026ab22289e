// SPDX-License-Identifier: Apache-2.0
#include "ops/math/min_max.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

template <class Op>
std::vector<Sample<Op>> extreme_samples() {
  auto all = binary_samples<Op>();
  all.push_back({{}, {sample("f32[5]")}});
  all.push_back({{}, {sample("f32[3,1]"), sample("f32[4]"), sample("f32[]"), sample("f32[3,4]")}});
  all.push_back({{}, {sample("i64[9]", -9, 9), sample("i64[9]", -9, 9), sample("i64[]", -9, 9)}});
  all.push_back({{}, {sample("i32[5]", -9, 9)}});
  return all;
}

std::vector<Sample<Clip>> clip_samples() {
  const SampleInput low = sample("f32[]", -1, -0.5), high = sample("f32[]", 0.5, 1);
  return {{{}, {sample("f32[2,3,5]"), low, high}},
          {{}, {sample("f32[2,3,4,5]"), low}},
          {{}, {sample("f32[17]"), no_sample(), high}},
          {{}, {sample("f32[17]")}},
          {{}, {sample("f32[17]"), high, low}},
          {{}, {sample("i32[9]", -9, 9), sample("i32[]", -4, -3), sample("i32[]", 2, 5)}},
          {{}, {sample("i64[9]", -9, 9)}}};
}

std::vector<Sample<ClipGradient>> clip_gradient_samples() {
  const SampleInput low = sample("f32[]", -1, -0.5), high = sample("f32[]", 0.5, 1);
  return {{{}, {sample("f32[2,3,5]"), sample("f32[2,3,5]"), low, high}},
          {{}, {sample("f32[33]"), sample("f32[33]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(min_max, extreme_samples<Min>(), extreme_samples<Max>(), clip_samples(),
           clip_gradient_samples())
