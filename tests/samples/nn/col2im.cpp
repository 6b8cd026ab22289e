// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/col2im.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Col2Im>> col2im_samples() {
  std::vector<Sample<Col2Im>> all;
  const auto add = [&](const Col2Im& op, std::string_view x, const Dims& image, const Dims& block) {
    all.push_back({op, {sample(x), sample(list_of(image)), sample(list_of(block))}});
  };
  add({}, "f32[2,10,5]", {5, 5}, {1, 5});
  add({.pads = {1, 0, 1, 2}}, "f32[1,4,24]", {3, 5}, {2, 2});
  add({.dilations = {2, 1}, .strides = {1, 2}}, "f32[2,12,6]", {5, 4}, {2, 2});
  add({}, "f32[1,6,3]", {4}, {2});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(col2im, col2im_samples())
