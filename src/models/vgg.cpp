// SPDX-License-Identifier: Apache-2.0
// Simonyan, Zisserman 2015, table 1, without batch normalization.
#include "models/table.h"
#include "ops/math/matmul.h"

namespace narrowgauge {

namespace {

// The weights [to, from] of means over windows of `from` places, one for each of `to` places:
// window i begins at floor(i from / to) and ends before ceil((i + 1) from / to), as in PyTorch's
// adaptive pooling.
std::vector<float> window_means(std::int64_t from, std::int64_t to) {
  std::vector<float> weights(static_cast<std::size_t>(from * to), 0.0F);
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t begin = i * from / to, end = ((i + 1) * from + to - 1) / to;
    for (std::int64_t k = begin; k < end; ++k)
      weights[static_cast<std::size_t>(i * from + k)] = 1.0F / static_cast<float>(end - begin);
  }
  return weights;
}

// Averages or repeats features of any size to `side` x `side`, flat: [N, C * side * side]. It is a
// product with a constant matrix, since only images other than 224x224 need it.
Value pool_to(Network& net, Value x, std::int64_t side) {
  const Shape from = net.shape(x);
  const std::int64_t channels = from[1].value(), height = from[2].value(), width = from[3].value();
  if (height == side && width == side) return net.flatten(x);
  const std::vector<float> rows = window_means(height, side), columns = window_means(width, side);
  Tensor means(DType::f32, {height * width, side * side});
  const auto values = means.values<float>();
  const auto h = static_cast<std::size_t>(height), w = static_cast<std::size_t>(width),
             s = static_cast<std::size_t>(side);
  for (std::size_t from_y = 0; from_y < h; ++from_y)
    for (std::size_t from_x = 0; from_x < w; ++from_x)
      for (std::size_t to = 0; to < s * s; ++to)
        values[(from_y * w + from_x) * s * s + to] =
            rows[to / s * h + from_y] * columns[to % s * w + from_x];
  const Value matrix = net.graph().constant(std::move(means), "avgpool.means");
  x = net.reshape(x, {from[0] * Dim(channels), height * width}, "avgpool.places");
  x = net.apply(MatMul{}, {x, matrix}, "avgpool");
  return net.reshape(x, {from[0], channels * side * side}, "flatten");
}

// Weights begin as in torchvision's vgg.py.
BuildNetwork vgg19(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    net.set_initials({.conv = ConvInitial::he_fan_out,
                      .linear_weight = Initial::normal(0, 0.01),
                      .linear_bias = Initial::constant(0)});
    Value x = image_input(net, image);
    int place = 0;  // in torchvision's list of layers: convolution, Relu, pooling
    for (const auto& [channels, depth] : {std::pair{64, 2}, std::pair{128, 2}, std::pair{256, 4},
                                          std::pair{512, 4}, std::pair{512, 4}}) {
      for (int i = 0; i < depth; ++i, place += 2)
        x = net.relu(net.conv(x, channels, {}, concat("features.", place)));
      x = net.max_pool(x);
      ++place;
    }
    x = pool_to(net, x, 7);
    x = net.dropout(net.relu(net.linear(x, 4096, "classifier.0")), 0.5);
    x = net.dropout(net.relu(net.linear(x, 4096, "classifier.3")), 0.5);
    return net.linear(x, classes, "classifier.6");
  };
}

}  // namespace

}  // namespace narrowgauge

// The sides are halved five times; rate and decay of Simonyan, Zisserman 2015.
NG_MODEL(vgg19, 6,
         {.name = "vgg19",
          .image = photo,
          .classes = photo_classes,
          .least_side = 32,
          .padded_side = 32,
          .habits = {.sgd = {.learning_rate = 0.01, .weight_decay = 5e-4}}},
         narrowgauge::vgg19)
