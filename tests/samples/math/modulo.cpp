// SPDX-License-Identifier: Apache-2.0
#include "ops/math/modulo.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Mod>> mod_samples() {
  std::vector<Sample<Mod>> all = binary_samples<Mod>(0.5, 3, {.fmod = 1});
  all.push_back({{.fmod = 1}, {sample("f32[9]", -6, 6), sample("f32[9]", -2, -1)}});
  for (const std::int64_t fmod : {0, 1})
    all.push_back({{fmod}, {sample("i64[5,3]", -9, 9), sample("i64[3]", -4, 4)}});
  all.push_back({{}, {sample("u8[9]", 0, 255), sample("u8[9]", 1, 20)}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(modulo, mod_samples())
