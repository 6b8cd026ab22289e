// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/network.h"

namespace narrowgauge {

namespace {

Value images(Network& net, ImageShape image) {
  return net.input("images", {net.batch(), image.channels, image.height, image.width});
}

// Two convolutions beside a shortcut; the shortcut of a first block is a strided 1x1 convolution.
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

BuildNetwork mlp(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    Value x = net.flatten(images(net, image));
    x = net.relu(net.linear(x, 256, "hidden1"));
    x = net.relu(net.linear(x, 128, "hidden2"));
    return net.linear(x, classes, "logits");
  };
}

// LeCun, Bottou, Bengio, Haffner 1998, with max pooling and Relu as is usual today.
BuildNetwork lenet(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    Value x = images(net, image);
    x = net.max_pool(net.relu(net.conv(x, 16, {.kernel = 5}, "conv1")));
    x = net.max_pool(net.relu(net.conv(x, 32, {.kernel = 5}, "conv2")));
    x = net.relu(net.linear(net.flatten(x), 128, "hidden"));
    return net.linear(x, classes, "logits");
  };
}

// He, Zhang, Ren, Sun 2016, section 4.2: three stages of three blocks, 16 to 64 channels.
BuildNetwork resnet20(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    Value x = net.conv(images(net, image), 16, {.bias = false}, "conv");
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

struct BuiltIn {
  std::string_view name;
  BuildNetwork (*build)(ImageShape, std::int64_t classes);
};
constexpr BuiltIn built_in[] = {{"mlp", mlp}, {"lenet", lenet}, {"resnet20", resnet20}};

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const BuiltIn& model : built_in) names.emplace_back(model.name);
  return names;
}

BuildNetwork find_model(std::string_view name, ImageShape image, std::int64_t classes) {
  require<ModelError>(image.height >= 8 && image.width >= 8, "model: images of ", image.height, 'x',
                      image.width, " are too small, 8x8 is the least");
  std::string names;
  for (const BuiltIn& model : built_in) {
    if (model.name == name) return model.build(image, classes);
    names += concat(names.empty() ? "" : ", ", model.name);
  }
  throw ModelError(concat("model: unknown name '", name, "', expected one of ", names));
}

}  // namespace narrowgauge
