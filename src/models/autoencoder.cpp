// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "models/table.h"

namespace narrowgauge {

namespace {

// Hinton, Salakhutdinov, "Reducing the Dimensionality of Data with Neural Networks", 2006, with
// convolutions: each of three steps halves the sides, and 64 numbers are all that is left between.
BuildNetwork autoencoder(ImageShape image, std::int64_t) {
  return [=](Network& net) {
    constexpr std::array<std::int64_t, 3> channels{16, 32, 64};
    constexpr std::int64_t code = 64, each_halves = std::int64_t{1} << channels.size();
    Value x = image_input(net, image);
    for (std::size_t i = 0; i < channels.size(); ++i)
      x = net.relu(net.conv(x, channels[i], {.kernel = 3, .stride = 2}, concat("encode", i + 1)));
    const std::int64_t height = image.height / each_halves, width = image.width / each_halves;
    x = net.linear(net.flatten(x), code, "code");
    x = net.relu(net.linear(x, channels.back() * height * width, "spread"));
    x = net.reshape(x, {net.batch(), channels.back(), height, width}, "spread.maps");
    for (std::size_t i = channels.size(); i-- > 0;) {
      const std::int64_t next = i > 0 ? channels[i - 1] : image.channels;
      x = net.conv_transpose(x, next, {.kernel = 2, .stride = 2}, concat("decode", i + 1));
      if (i > 0) x = net.relu(x);
    }
    return x;
  };
}

}  // namespace

}  // namespace narrowgauge

NG_MODEL(autoencoder, 11,
         {.name = "autoencoder",
          .image = {3, 64, 64},
          .side_step = 8,
          .padded_side = 8,
          .output = OutputKind::image,
          .habits = {.optimizer = "adam"}},
         narrowgauge::autoencoder)
