// SPDX-License-Identifier: Apache-2.0
#include "ops/math/cast_like.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<CastLike>> cast_like_samples() {
  return {{{}, {sample("f32[2,3,5]"), sample("f32[]")}},
          {{}, {sample("f32[7]", -6, 6), sample("i32[3]", -9, 9)}},
          {{.saturate = 0}, {sample("f32[9]", -1e3, 1e3), sample("f8e4m3fn[2]")}},
          {{.round_mode = "down"}, {sample("f32[9]", 1, 9), sample("f8e8m0[1]", 1, 2)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(cast_like, cast_like_samples())
