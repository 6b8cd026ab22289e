// SPDX-License-Identifier: Apache-2.0
#include "models/builders.h"

namespace narrowgauge {

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

}  // namespace narrowgauge
