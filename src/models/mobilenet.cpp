// SPDX-License-Identifier: Apache-2.0
// Sandler, Howard, Zhu, Zhmoginov, Chen 2018, table 2.
#include "models/table.h"

namespace narrowgauge {

namespace {

// Convolution, batch normalization and Relu6; the first two are `name`.0 and `name`.1.
Value conv_unit(Network& net, Value x, std::int64_t channels, ConvOptions options,
                const std::string& name) {
  options.bias = false;
  return net.relu6(net.batch_norm(net.conv(x, channels, options, name + ".0"), name + ".1"));
}

struct Bottleneck {
  std::int64_t expansion, channels, stride;
};

// Expands, convolves each channel on its own, projects; the shortcut joins the narrow ends.
Value inverted_residual(Network& net, Value x, Bottleneck block) {
  const std::int64_t inputs = net.shape(x)[1].value(), inner = inputs * block.expansion;
  int unit = 0;
  Value y = x;
  if (block.expansion != 1) y = conv_unit(net, y, inner, {.kernel = 1}, concat("conv.", unit++));
  y = conv_unit(net, y, inner, {.stride = block.stride, .groups = inner}, concat("conv.", unit++));
  y = net.conv(y, block.channels, {.kernel = 1, .bias = false}, concat("conv.", unit));
  y = net.batch_norm(y, concat("conv.", unit + 1));
  return block.stride == 1 && inputs == block.channels ? net.add(x, y) : y;
}

struct Row {
  std::int64_t expansion, channels;
  int depth;
  std::int64_t stride;
};
constexpr Row rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                        {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

// Weights begin as in torchvision's mobilenetv2.py.
BuildNetwork mobilenet_v2(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    net.set_initials({.conv = ConvInitial::he_fan_out,
                      .linear_weight = Initial::normal(0, 0.01),
                      .linear_bias = Initial::constant(0)});
    net.set_running_variance(RunningVariance::unbiased);
    Value x = conv_unit(net, image_input(net, image), 32, {.stride = 2}, "features.0");
    int place = 1;
    for (const Row& row : rows)
      for (int i = 0; i < row.depth; ++i)
        x = net.scope(concat("features.", place++), [&] {
          return inverted_residual(net, x, {row.expansion, row.channels, i == 0 ? row.stride : 1});
        });
    x = conv_unit(net, x, 1280, {.kernel = 1}, concat("features.", place));
    x = net.dropout(net.global_average_pool(x), 0.2);
    return net.linear(x, classes, "classifier.1");
  };
}

}  // namespace

}  // namespace narrowgauge

NG_MODEL(mobilenet_v2, 8, {.name = "mobilenet_v2", .image = photo, .classes = photo_classes},
         narrowgauge::mobilenet_v2)
