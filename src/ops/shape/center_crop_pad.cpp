// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/center_crop_pad.h"

#include <numeric>

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/shape/axes.h"
#include "ops/shape/pad.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

std::vector<std::size_t> settled_axes(const Dims& axes, std::size_t rank) {
  if (!axes.empty()) return normalize_axes("CenterCropPad", axes, rank);
  std::vector<std::size_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

TensorTypes CenterCropPad::infer(const Inference& in) const {
  const Dims sizes = constant_integers(in, 1, "shape");
  Shape shape = in.shape(0);
  const std::vector<std::size_t> along = settled_axes(axes, shape.size());
  require(sizes.size() == along.size(), "CenterCropPad: expected ", along.size(), " sizes for ",
          in.type(0), ", got ", sizes);
  for (std::size_t i = 0; i < along.size(); ++i) {
    require(sizes[i] >= 0, "CenterCropPad: sizes must not be negative, got ", sizes);
    shape[along[i]] = sizes[i];
  }
  return {{in.dtype(0), shape}};
}

// Pad cuts off where it is asked to add less than nothing.
Values CenterCropPad::decompose(Rewriting& r) const {
  const Dims sizes = integers_of(*r.graph().constant_value(r.input(1)));
  const Shape& x = r.shape(r.input(0));
  const std::vector<std::size_t> along = settled_axes(axes, x.size());
  Dims pads(2 * along.size());
  for (std::size_t i = 0; i < along.size(); ++i) {
    const std::int64_t more = sizes[i] - x[along[i]].value();
    pads[i] = more / 2;  // towards 0: the smaller half of what is added or cut off
    pads[along.size() + i] = more - more / 2;
  }
  const Dims padded(along.begin(), along.end());
  return {
      r.add(Pad{}, {r.input(0), r.constant(list_of(pads)), absent, r.constant(list_of(padded))})};
}

std::span<const Kernel> CenterCropPad::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(center_crop_pad, narrowgauge::CenterCropPad)
