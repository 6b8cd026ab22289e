// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/pad.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Pad>> pad_samples() {
  const SampleInput image = sample("f32[2,3,4,5]");
  const SampleInput around = sample_list({0, 0, 1, 2, 0, 0, 2, 1});
  const SampleInput height = sample(Tensor::from<std::int64_t>({1}, {-2}));
  return {{{}, {image, around}},
          {{}, {image, around, sample(Tensor::scalar(DType::f32, 1.5))}},
          {{}, {sample("f32[3,4]"), sample_list({1, -1, 0, 2}), sample("f32[1]")}},
          {{"edge"}, {image, around}},
          {{"reflect"}, {image, around}},
          {{"wrap"}, {image, around}},
          {{"reflect"}, {sample("f32[3]"), sample_list({5, 4})}},
          {{"edge"}, {image, sample_list({3, -1}), no_sample(), height}},
          {{}, {sample("f32[4,3]"), sample_list({-1, 2, 0, -1})}},
          {{}, {sample("i64[3]", -9, 9), sample_list({1, 1})}}};
}

std::vector<Sample<PadGradient>> pad_gradient_samples() {
  const Shape image{2, 3, 4, 5};
  const Dims around{0, 0, 1, 2, 0, 0, 2, 1};
  return {{{"edge", image, around}, {sample("f32[2,3,7,8]")}},
          {{"reflect", image, around}, {sample("f32[2,3,7,8]")}},
          {{"wrap", image, around}, {sample("f32[2,3,7,8]")}},
          {{"reflect", {3}, {5, 4}}, {sample("f32[12]")}},
          {{"edge", {4, 3}, {-1, 2, 1, 0}}, {sample("f32[4,5]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(pad, pad_samples(), pad_gradient_samples())
