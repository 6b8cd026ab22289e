// SPDX-License-Identifier: Apache-2.0
// Huang, Liu, van der Maaten, Weinberger 2017, table 1: bottlenecks, growth 32, compression 0.5.
#include "models/table.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t growth = 32;

Value dense_layer(Network& net, Value x) {
  Value y = net.relu(net.batch_norm(x, "norm1"));
  y = net.conv(y, 4 * growth, {.kernel = 1, .bias = false}, "conv1");
  y = net.relu(net.batch_norm(y, "norm2"));
  y = net.conv(y, growth, {.bias = false}, "conv2");
  return net.concat({x, y}, 1);
}

Value transition(Network& net, Value x) {
  const std::int64_t channels = net.shape(x)[1].value() / 2;
  x = net.relu(net.batch_norm(x, "norm"));
  return net.average_pool(net.conv(x, channels, {.kernel = 1, .bias = false}, "conv"));
}

Value features(Network& net, ImageShape image) {
  Value x =
      net.conv(image_input(net, image), 64, {.kernel = 7, .stride = 2, .bias = false}, "conv0");
  x = net.max_pool(net.relu(net.batch_norm(x, "norm0")), {.kernel = 3, .stride = 2, .padding = 1});
  int block = 0;
  for (const int depth : {6, 12, 24, 16}) {
    if (block > 0) x = net.scope(concat("transition", block), [&] { return transition(net, x); });
    ++block;
    for (int layer = 1; layer <= depth; ++layer)
      x = net.scope(concat("denseblock", block, ".denselayer", layer),
                    [&] { return dense_layer(net, x); });
  }
  return net.relu(net.batch_norm(x, "norm5"));
}

// Weights begin as in torchvision's densenet.py: He normal by fan-in, bias of the classifier 0.
BuildNetwork densenet121(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    net.set_initials({.linear_bias = Initial::constant(0)});
    net.set_running_variance(RunningVariance::unbiased);
    const Value x = net.scope("features", [&] { return features(net, image); });
    return net.linear(net.global_average_pool(x), classes, "classifier");
  };
}

}  // namespace

}  // namespace narrowgauge

// The sides are halved several times, which sets the least; rate and decay of Huang et al. 2017.
NG_MODEL(densenet121, 7,
         {.name = "densenet121",
          .image = photo,
          .classes = photo_classes,
          .least_side = 29,
          .padded_side = 32,
          .habits = {.sgd = {.learning_rate = 0.1}}},
         narrowgauge::densenet121)
