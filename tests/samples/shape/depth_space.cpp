// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/depth_space.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<DepthToSpace>> depth_to_space_samples() {
  std::vector<Sample<DepthToSpace>> all;
  const auto add = [&](const DepthToSpace& op, SampleInput x) {
    all.push_back({op, {std::move(x)}});
  };
  add({.blocksize = 2}, sample("f32[2,8,3,2]"));
  add({.blocksize = 3, .mode = "CRD"}, sample("f32[1,18,2,1]"));
  add({}, sample("f32[2,3,4,5]"));
  add({.blocksize = 2}, sample("i64[1,4,1,3]", -9, 9));
  return all;
}

std::vector<Sample<SpaceToDepth>> space_to_depth_samples() {
  return {{{.blocksize = 2}, {sample("f32[2,3,4,6]")}},
          {{.blocksize = 3}, {sample("f32[1,2,3,9]")}},
          {{.blocksize = 2}, {sample("i64[1,1,2,4]", -9, 9)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(depth_space, depth_to_space_samples(), space_to_depth_samples())
