// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/scatter.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<ScatterElements>> scatter_elements_samples() {
  const SampleInput once = sample(list_of(Dims{1, 0, -1, 1}).reshaped({2, 2}));
  const SampleInput again = sample(list_of(Dims{1, 1, -2, 0}));
  std::vector<Sample<ScatterElements>> all;
  const auto add = [&](const ScatterElements& op, const std::vector<SampleInput>& inputs) {
    all.push_back({op, inputs});
  };
  add({}, {sample("f32[3,2]"), once, sample("f32[2,2]")});
  add({1, "add"}, {sample("f32[2,3,4,5]"), sample("i32[2,7,3,5]", -3, 2), sample("f32[2,7,3,5]")});
  add({0, "mul"}, {sample("f32[3]"), again, sample("f32[4]", 0.5, 2)});
  for (const char* reduction : {"max", "min"})
    add({0, reduction}, {sample("f32[3]"), again, sample("f32[4]")});
  add({0, "add"}, {sample("i64[3]", -9, 9), again, sample("i64[4]", -9, 9)});
  return all;
}

std::vector<Sample<ScatterND>> scatter_nd_samples() {
  const SampleInput once = sample(list_of(Dims{2, -4}).reshaped({2, 1}));
  const SampleInput again = sample(list_of(Dims{1, 0, -3, 0, 1, -2}).reshaped({3, 2}));
  std::vector<Sample<ScatterND>> all;
  const auto add = [&](const ScatterND& op, const std::vector<SampleInput>& inputs) {
    all.push_back({op, inputs});
  };
  add({}, {sample("f32[4,3]"), once, sample("f32[2,3]")});
  add({"add"}, {sample("f32[4,2]"), again, sample("f32[3]")});
  add({"mul"}, {sample("f32[4,2,3]"), again, sample("f32[3,3]", 0.5, 2)});
  for (const char* reduction : {"max", "min"})
    add({reduction}, {sample("f32[4,2]"), again, sample("f32[3]")});
  add({"mul"}, {sample("i64[4,2]", -9, 9), again, sample("i64[3]", -9, 9)});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(scatter, scatter_elements_samples(), scatter_nd_samples())
