// SPDX-License-Identifier: Apache-2.0
#include "ops/image/grid_sample.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<GridSample>> grid_sample_samples() {
  const SampleInput x = sample("f32[2,3,4,5]");
  std::vector<Sample<GridSample>> all{
      {{}, {x, sample("f32[2,3,2,2]", -1.3, 1.3)}},
      {{1, "linear", "border"}, {x, sample("f32[2,3,2,2]", -1.3, 1.3)}},
      {{0, "linear", "reflection"}, {x, sample("f32[2,1,4,2]", -4, 4)}},
      {{1, "cubic", "reflection"}, {x, sample("f32[2,3,2,2]", -1.6, 1.6)}},
      {{0, "cubic", "zeros"}, {sample("f32[2,2,6]"), sample("f32[2,5,1]", -1.3, 1.3)}},
      {{0, "nearest", "border"}, {x, sample("f32[2,2,2,2]", -1.3, 1.3)}},
      {{1, "linear", "zeros"}, {sample("f32[1,2,3,2,4]"), sample("f32[1,2,2,2,3]", -1.2, 1.2)}},
  };
  for (const char* const mode : {"nearest", "linear", "cubic"})
    for (const char* const padding : {"zeros", "border", "reflection"})
      for (const std::int64_t align : {0, 1})
        all.push_back(
            {{align, mode, padding}, {sample("f32[1,2,4,3]"), sample("f32[1,3,2,2]", -1.4, 1.4)}});
  return all;
}

std::vector<Sample<GridSampleGradient>> grid_sample_gradient_samples() {
  const SampleInput x = sample("f32[2,3,4,5]"), dy = sample("f32[2,3,3,2]");
  return {
      {{}, {dy, x, sample("f32[2,3,2,2]", -1.3, 1.3)}},
      {{1, "cubic", "border"}, {dy, x, sample("f32[2,3,2,2]", -1.3, 1.3)}},
      {{0, "nearest", "reflection"}, {dy, x, sample("f32[2,3,2,2]", -1.3, 1.3)}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(grid_sample, grid_sample_samples(), grid_sample_gradient_samples())
