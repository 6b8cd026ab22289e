// SPDX-License-Identifier: Apache-2.0
// Residual networks: He, Zhang, Ren, Sun 2016.
#include "models/table.h"

namespace narrowgauge {

namespace {

// Two convolutions beside a shortcut, which is a 1x1 convolution if `stride` is not 1.
Value residual_block(Network& net, Value x, std::int64_t channels, std::int64_t stride) {
  Value y = net.conv(x, channels, {.stride = stride, .bias = false}, "conv1");
  y = net.relu(net.batch_norm(y, "bn1"));
  y = net.batch_norm(net.conv(y, channels, {.bias = false}, "conv2"), "bn2");
  if (stride != 1) {
    x = net.conv(x, channels, {.kernel = 1, .stride = stride, .bias = false}, "shortcut");
    x = net.batch_norm(x, "shortcut_bn");
  }
  return net.relu(net.add(y, x));
}

// Section 4.2: three stages of three blocks, 16 to 64 channels.
BuildNetwork resnet20(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    Value x = net.conv(image_input(net, image), 16, {.bias = false}, "conv");
    x = net.relu(net.batch_norm(x, "bn"));
    for (std::int64_t stage = 0; stage < 3; ++stage)
      for (std::int64_t block = 0; block < 3; ++block)
        x = net.scope(concat("stage", stage + 1, ".block", block + 1), [&] {
          const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
          return residual_block(net, x, std::int64_t{16} << stage, stride);
        });
    return net.linear(net.global_average_pool(x), classes, "logits");
  };
}

struct Block {
  std::int64_t width, stride;
};

// Two 3x3 convolutions.
Value basic(Network& net, Value x, Block block) {
  x = net.conv(x, block.width, {.stride = block.stride, .bias = false}, "conv1");
  x = net.relu(net.batch_norm(x, "bn1"));
  return net.batch_norm(net.conv(x, block.width, {.bias = false}, "conv2"), "bn2");
}

// 1x1, 3x3, 1x1, with the stride in the 3x3 ("v1.5", as in Goyal et al. 2017, section 5.1).
Value bottleneck(Network& net, Value x, Block block) {
  x = net.conv(x, block.width, {.kernel = 1, .bias = false}, "conv1");
  x = net.relu(net.batch_norm(x, "bn1"));
  x = net.conv(x, block.width, {.stride = block.stride, .bias = false}, "conv2");
  x = net.relu(net.batch_norm(x, "bn2"));
  return net.batch_norm(net.conv(x, 4 * block.width, {.kernel = 1, .bias = false}, "conv3"), "bn3");
}

using Branch = Value (*)(Network& net, Value x, Block block);

Value residual(Network& net, Value x, Branch branch, Block block) {
  Value y = branch(net, x, block);
  const std::int64_t channels = net.shape(y)[1].value();
  if (block.stride != 1 || net.shape(x)[1].value() != channels) {
    const ConvOptions projection{.kernel = 1, .stride = block.stride, .bias = false};
    x = net.batch_norm(net.conv(x, channels, projection, "downsample.0"), "downsample.1");
  }
  return net.relu(net.add(y, x));
}

// Table 1. Weights begin as in torchvision's resnet.py: He normal by fan-out, no zero gamma.
BuildNetwork resnet(Branch branch, std::vector<int> depths, ImageShape image,
                    std::int64_t classes) {
  return [=, depths = std::move(depths)](Network& net) {
    net.set_initials({.conv = ConvInitial::he_fan_out});
    net.set_running_variance(RunningVariance::unbiased);
    Value x =
        net.conv(image_input(net, image), 64, {.kernel = 7, .stride = 2, .bias = false}, "conv1");
    x = net.max_pool(net.relu(net.batch_norm(x, "bn1")), {.kernel = 3, .stride = 2, .padding = 1});
    for (std::size_t stage = 0; stage < depths.size(); ++stage)
      for (int block = 0; block < depths[stage]; ++block)
        x = net.scope(concat("layer", stage + 1, '.', block), [&] {
          return residual(net, x, branch,
                          {std::int64_t{64} << stage, stage > 0 && block == 0 ? 2 : 1});
        });
    return net.linear(net.global_average_pool(x), classes, "fc");
  };
}

BuildNetwork resnet18(ImageShape image, std::int64_t classes) {
  return resnet(basic, {2, 2, 2, 2}, image, classes);
}

BuildNetwork resnet50(ImageShape image, std::int64_t classes) {
  return resnet(bottleneck, {3, 4, 6, 3}, image, classes);
}

}  // namespace

}  // namespace narrowgauge

// Rates this high need a warm-up (He et al. 2016, section 4.2).
NG_MODEL(resnet20, 3,
         {.name = "resnet20",
          .image = {1, 32, 32},
          .padded_side = 32,
          .habits = {.epochs = 12, .sgd = {.learning_rate = 0.1}}},
         narrowgauge::resnet20)
NG_MODEL(resnet18, 4,
         {.name = "resnet18",
          .image = photo,
          .classes = photo_classes,
          .habits = {.sgd = {.learning_rate = 0.1}}},
         narrowgauge::resnet18)
NG_MODEL(resnet50, 5,
         {.name = "resnet50",
          .image = photo,
          .classes = photo_classes,
          .habits = {.sgd = {.learning_rate = 0.1}}},
         narrowgauge::resnet50)
