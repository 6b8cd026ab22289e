// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "models/table.h"

namespace narrowgauge {
namespace {

Value conv_norm_relu(Network& net, Value x, std::int64_t channels, const std::string& name) {
  x = net.conv(x, channels, {.kernel = 3, .bias = false}, name + ".conv");
  return net.relu(net.batch_norm(x, name + ".norm"));
}

Value two_convs(Network& net, Value x, std::int64_t channels, const std::string& name) {
  return conv_norm_relu(net, conv_norm_relu(net, x, channels, name + ".1"), channels, name + ".2");
}

// Ronneberger, Fischer, Brox, "U-Net", 2015, with a quarter of its channels, one level less, padded
// convolutions and batch normalization.
BuildNetwork unet_small(ImageShape image, std::int64_t classes) {
  return [=](Network& net) {
    constexpr std::array<std::int64_t, 4> channels{16, 32, 64, 128};
    Value x = image_input(net, image);
    Values skipped;
    for (std::size_t level = 0; level < channels.size(); ++level) {
      if (level > 0) x = net.max_pool(skipped.emplace_back(x));
      x = two_convs(net, x, channels[level], concat("down", level + 1));
    }
    for (std::size_t level = channels.size() - 1; level > 0; --level) {
      const std::string name = concat("up", level);
      x = net.conv_transpose(x, channels[level - 1], {.kernel = 2, .stride = 2}, name + ".grow");
      x = net.concat({skipped[level - 1], x}, 1, name + ".join");
      x = two_convs(net, x, channels[level - 1], name);
    }
    return net.conv(x, classes, {.kernel = 1}, "logits");
  };
}

}  // namespace

}  // namespace narrowgauge

NG_MODEL(unet_small, 10,
         {.name = "unet-small",
          .image = {3, 256, 256},
          .classes = 2,
          .least_side = 16,
          .side_step = 8,
          .padded_side = 16,
          .output = OutputKind::pixels,
          .habits = {.optimizer = "adam", .epochs = 20, .batch = 8}},
         narrowgauge::unet_small)
