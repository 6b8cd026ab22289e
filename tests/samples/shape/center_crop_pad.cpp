// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/center_crop_pad.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<CenterCropPad>> center_crop_pad_samples() {
  return {{{}, {sample("f32[4,5]"), sample_list({7, 2})}},
          {{.axes = {1, -1}}, {sample("f32[2,5,3,4]"), sample_list({2, 7})}},
          {{.axes = {0}}, {sample("f32[3]"), sample_list({3})}},
          {{}, {sample("i64[3,2]", -9, 9), sample_list({1, 5})}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(center_crop_pad, center_crop_pad_samples())
