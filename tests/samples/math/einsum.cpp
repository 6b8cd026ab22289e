// SPDX-License-Identifier: Apache-2.0
#include "ops/math/einsum.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Einsum>> einsum_samples() {
  std::vector<Sample<Einsum>> all;
  const auto add = [&](const char* equation, const std::vector<SampleInput>& inputs) {
    all.push_back({Einsum{equation}, inputs});
  };
  add("ij,jk->ik", {sample("f32[3,4]"), sample("f32[4,5]")});
  add("...ij, ...jk", {sample("f32[2,1,3,4]"), sample("f32[5,4,2]")});
  add("bii->bi", {sample("f32[2,3,3]")});
  add("ij->ji", {sample("f32[2,3]")});
  add("ij->", {sample("f32[2,3]")});
  add("i,i", {sample("f32[7]"), sample("f32[7]")});
  add("bhwc,hkc,wkc->bkhw", {sample("f32[2,3,4,5]"), sample("f32[3,2,5]"), sample("f32[4,2,5]")});
  add("i...->...", {sample("f32[3,2]")});
  add("ij,kj->ik", {sample("i64[2,3]", -9, 9), sample("i64[4,3]", -9, 9)});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(einsum, einsum_samples())
