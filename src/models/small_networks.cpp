// SPDX-License-Identifier: Apache-2.0
#include "models/table.h"

namespace narrowgauge {

namespace {

BuildNetwork mlp(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    Value x = net.flatten(image_input(net, image));
    x = net.relu(net.linear(x, 256, "hidden1"));
    x = net.relu(net.linear(x, 128, "hidden2"));
    return net.linear(x, classes, "logits");
  };
}

// LeCun, Bottou, Bengio, Haffner 1998, with today's usual max pooling and Relu.
BuildNetwork lenet(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    Value x = image_input(net, image);
    x = net.max_pool(net.relu(net.conv(x, 16, {.kernel = 5}, "conv1")));
    x = net.max_pool(net.relu(net.conv(x, 32, {.kernel = 5}, "conv2")));
    x = net.relu(net.linear(net.flatten(x), 128, "hidden"));
    return net.linear(x, classes, "logits");
  };
}

}  // namespace

}  // namespace narrowgauge

// Without normalization and warm-up, the first gradients of large images are too large for the
// rate, so that they are clipped.
NG_MODEL(mlp, 1,
         {.name = "mlp",
          .least_side = 1,
          .habits = {.clip = 2, .warms_up = false, .sgd = {.weight_decay = 0}}},
         narrowgauge::mlp)
NG_MODEL(lenet, 2,
         {.name = "lenet", .habits = {.clip = 2, .warms_up = false, .sgd = {.weight_decay = 0}}},
         narrowgauge::lenet)
