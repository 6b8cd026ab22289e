// SPDX-License-Identifier: Apache-2.0
#include "ops/math/matmul.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<MatMul>> mat_mul_samples() {
  return {
      {{}, {sample("f32[3,4]"), sample("f32[4,5]")}},
      {{}, {sample("f32[17,33]"), sample("f32[33,9]")}},
      {{}, {sample("f32[2,3,4]"), sample("f32[4,5]")}},
      {{}, {sample("f32[2,1,3,4]"), sample("f32[3,4,2]")}},
      {{}, {sample("f32[2,3,1,4]"), sample("f32[1,3,4,2]")}},
      {{}, {sample("f32[4]"), sample("f32[4]")}},
      {{}, {sample("f32[4]"), sample("f32[2,4,3]")}},
      {{}, {sample("f32[2,3,4]"), sample("f32[4]")}},
      {{}, {sample("f32[0,4]"), sample("f32[4,3]")}},
      {{}, {sample("f32[2,0]"), sample("f32[0,3]")}},
  };
}

std::vector<Sample<FusedMatMul>> fused_mat_mul_samples() {
  std::vector<Sample<FusedMatMul>> all;
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      const FusedMatMul op{transpose_a, transpose_b};
      const auto a = [&](std::string_view plain, std::string_view exchanged) {
        return sample(transpose_a ? exchanged : plain);
      };
      const auto b = [&](std::string_view plain, std::string_view exchanged) {
        return sample(transpose_b ? exchanged : plain);
      };
      all.push_back({op, {a("f32[3,4]", "f32[4,3]"), b("f32[4,5]", "f32[5,4]")}});
      all.push_back({op, {a("f32[2,3,4]", "f32[2,4,3]"), b("f32[2,4,2]", "f32[2,2,4]")}});
      all.push_back({op, {a("f32[2,3,4]", "f32[2,4,3]"), b("f32[4,2]", "f32[2,4]")}});
      all.push_back({op, {a("f32[3,4]", "f32[4,3]"), b("f32[2,1,4,2]", "f32[2,1,2,4]")}});
    }
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(matmul, mat_mul_samples(), fused_mat_mul_samples())
