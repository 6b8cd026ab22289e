// SPDX-License-Identifier: Apache-2.0
#include "ops/math/gemm.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Gemm>> gemm_samples() {
  std::vector<Sample<Gemm>> all;
  for (const std::int64_t transpose_a : {0, 1})
    for (const std::int64_t transpose_b : {0, 1})
      all.push_back({{.transA = transpose_a, .transB = transpose_b},
                     {sample(transpose_a ? "f32[4,3]" : "f32[3,4]"),
                      sample(transpose_b ? "f32[5,4]" : "f32[4,5]"), sample("f32[5]")}});
  for (const std::string_view c : {"f32[3,5]", "f32[3,1]", "f32[1,5]", "f32[1]", "f32[]"})
    all.push_back(
        {{.alpha = 0.5, .beta = -1.5}, {sample("f32[3,4]"), sample("f32[4,5]"), sample(c)}});
  all.push_back({{}, {sample("f32[3,4]"), sample("f32[4,5]"), sample("f32[3,1]")}});
  all.push_back({{.alpha = -2}, {sample("f32[3,4]"), sample("f32[4,5]")}});
  all.push_back({{.beta = 0}, {sample("f32[3,4]"), sample("f32[4,5]"), sample("f32[5]")}});
  all.push_back({{.transB = 1}, {sample("f32[0,4]"), sample("f32[5,4]"), sample("f32[5]")}});
  all.push_back({{}, {sample("f32[2,0]"), sample("f32[0,5]"), sample("f32[5]")}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(gemm, gemm_samples())
