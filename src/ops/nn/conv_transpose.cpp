// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/conv_transpose.h"

#include <algorithm>

#include "ops/control/composite.h"
#include "ops/elementwise/expression.h"
#include "ops/nn/conv.h"
#include "ops/shape/axes.h"
#include "ops/shape/pad.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// What the attributes come to along one axis.
struct Axis {
  Dim full;                 // the size without pads and output padding
  std::int64_t begin, end;  // elements cut off there; negative ones are added
  Dim size() const { return full - begin - end; }
};

Axis settle(const ConvTranspose& op, const Dim& x, std::int64_t kernel, std::size_t axis,
            std::size_t axes) {
  const std::int64_t stride = entry_or(op.strides, axis, 1);
  const std::int64_t extra = entry_or(op.output_padding, axis, 0);
  const Dim full = (x - 1) * stride + ((kernel - 1) * entry_or(op.dilations, axis, 1) + 1);
  const bool same = op.auto_pad == "SAME_UPPER" || op.auto_pad == "SAME_LOWER";
  if (op.output_shape.empty() && !same)
    return {full, entry_or(op.pads, axis, 0), entry_or(op.pads, axis + axes, 0) - extra};
  const Dim wanted = same && op.output_shape.empty() ? x * stride : Dim(op.output_shape[axis]);
  const Dim total = full + extra - wanted;
  require(total.is_known(), "ConvTranspose: output_shape ", op.output_shape,
          " needs a known input size, got ", x);
  const std::int64_t pads = std::max<std::int64_t>(0, total.value());
  const std::int64_t begin = op.auto_pad == "SAME_UPPER" ? pads / 2 : pads - pads / 2;
  return {full, begin, total.value() - begin - extra};
}

std::vector<Axis> settle(const ConvTranspose& op, const Shape& x, const Dims& kernel) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    axes.push_back(settle(op, x[i + 2], kernel[i], i, kernel.size()));
  return axes;
}

void check_conv_transpose(const ConvTranspose& op, const Shape& x, const Shape& w) {
  require(
      x.size() >= 3 && x.size() <= 5 && w.size() == x.size(),
      "ConvTranspose: expected x [N, C, spatial...] with one to three spatial axes and w of its "
      "rank, got ",
      x, " and ", w);
  require(op.group >= 1 && x[1] == w[0] && w[0].is_known() && w[0].value() % op.group == 0,
          "ConvTranspose: w ", w, " over ", op.group, " groups does not fit x ", x);
  const Dims kernel = known_dims(spatial_part(w));
  require(op.kernel_shape.empty() || op.kernel_shape == kernel, "ConvTranspose: kernel_shape ",
          op.kernel_shape, " differs from w ", w);
  check_window({"ConvTranspose", op.auto_pad, kernel, op.strides, op.dilations, op.pads},
               kernel.size());
  check_spatial_list("ConvTranspose", "output_padding", op.output_padding, kernel.size(), 0);
  check_spatial_list("ConvTranspose", "output_shape", op.output_shape, kernel.size(), 0);
}

}  // namespace

TensorTypes ConvTranspose::infer(const Inference& in) const {
  const Shape &x = in.shape(0), &w = in.shape(1);
  check_conv_transpose(*this, x, w);
  Shape y{x[0], w[1] * group};
  for (const Axis& axis : settle(*this, x, known_dims(spatial_part(w)))) {
    require(!axis.full.is_known() || (axis.full.value() > 0 && axis.size().value() >= 0),
            "ConvTranspose: x ", x, " with pads of ", axis.begin, " and ", axis.end,
            " gives a negative size");
    y.push_back(axis.size());
  }
  if (in.has(2))
    require(in.shape(2) == Shape{y[1]}, "ConvTranspose: expected b of ", y[1], " values, got ",
            in.type(2));
  return {{in.dtype(0), std::move(y)}};
}

Values ConvTranspose::decompose(Rewriting& r) const {
  const Shape x = r.shape(r.input(0)), w = r.shape(r.input(1));
  const std::vector<Axis> axes = settle(*this, x, known_dims(spatial_part(w)));
  // The gradient of a convolution cuts off pads, and adds what no window reached: less than a
  // stride. The rest is added behind.
  ConvDataGradient conv{.dilations = dilations, .group = group, .strides = strides};
  conv.shape = {x[0], w[1] * group};
  Dims ends, behind(2 * x.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t unreached = std::max<std::int64_t>(0, -axes[i].end);
    const bool inside = unreached < entry_or(strides, i, 1);
    conv.pads.push_back(axes[i].begin);
    ends.push_back(std::max<std::int64_t>(0, axes[i].end));
    if (!inside) behind[x.size() + 2 + i] = unreached;
    conv.shape.push_back(axes[i].full - axes[i].begin - ends.back() + (inside ? unreached : 0));
  }
  conv.pads.insert(conv.pads.end(), ends.begin(), ends.end());
  Value y = r.add(conv, {r.input(0), r.input(1)});
  if (std::any_of(behind.begin(), behind.end(), [](auto pad) { return pad != 0; }))
    y = r.add(Pad{}, {y, r.constant(list_of(behind))});
  if (!r.has_input(2)) return {y};
  Shape channels(x.size() - 1, 1);
  channels[0] = w[1] * group;
  return {Expression{r, y} + Expression{r, r.add(ReshapeTo{channels}, {r.input(2)})}};
}

std::span<const Kernel> ConvTranspose::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(conv_transpose, narrowgauge::ConvTranspose)
