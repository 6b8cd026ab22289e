// SPDX-License-Identifier: Apache-2.0
// Dosovitskiy et al. 2021; the small size is that of Touvron et al. 2021 (DeiT-S).
#include "models/table.h"
#include "ops/shape/concat.h"
#include "ops/shape/transpose.h"

namespace narrowgauge {

namespace {

constexpr double vit_epsilon = 1e-6;

Value self_attention(Network& net, Value x, const VitSize& size) {
  const Value joint = net.linear(x, 3 * size.width, "qkv");
  const Value query = net.apply(Split{2, 3}, {joint}, "split");
  const Value key{query.node, 1}, value{query.node, 2};
  x = net.attention(query, key, value, {.heads = size.heads});
  return net.linear(x, size.width, "proj");
}

Value block(Network& net, Value x, const VitSize& size) {
  Value y = net.layer_norm(x, "norm1", vit_epsilon);
  x = net.add(x, net.scope("attn", [&] { return self_attention(net, y, size); }));
  y = net.layer_norm(x, "norm2", vit_epsilon);
  y = net.linear(net.gelu(net.linear(y, size.inner, "mlp.fc1")), size.width, "mlp.fc2");
  return net.add(x, y);
}

// The patches of an image as tokens after the class token, [N, 1 + patches, width], plus positions.
Value tokens(Network& net, ImageShape image, const VitSize& size) {
  const ConvOptions cut{.kernel = size.patch, .stride = size.patch, .padding = 0};
  const std::int64_t patches = (image.height / size.patch) * (image.width / size.patch);
  const Value start = net.parameter("cls_token", {1, 1, size.width}, Initial::normal(0, 1e-6));
  const Value places =
      net.parameter("pos_embed", {1, 1 + patches, size.width}, Initial::normal(0, 0.02));
  Value x = net.conv(image_input(net, image), size.width, cut, "patch_embed.proj");
  x = net.reshape(x, {net.batch(), size.width, patches}, "patch_embed.places");
  x = net.apply(Transpose{{0, 2, 1}}, {x}, "patch_embed");
  x = net.concat({net.expand(start, {net.batch(), 1, size.width}, "cls_token.each"), x}, 1);
  return net.add(x, places);
}

}  // namespace

// Weights begin as in timm's vision_transformer.py, whose truncated normal numbers of deviation
// 0.02 are cut at +-2, which is 100 deviations: never.
BuildNetwork vit(const VitSize& size, ImageShape image, std::int64_t classes) {
  for (const std::int64_t count : {size.layers, size.width, size.heads, size.inner, size.patch,
                                   image.channels, image.height, image.width, classes})
    require(count >= 1, "vit: expected at least one of everything, got ", count);
  require(size.width % size.heads == 0, "vit: ", size.heads, " heads do not divide a width of ",
          size.width);
  require(image.height % size.patch == 0 && image.width % size.patch == 0, "vit: images of ",
          image.height, 'x', image.width, " are not made of patches of ", size.patch, 'x',
          size.patch);
  return [=](Network& net) {
    net.set_initials({.conv = ConvInitial::uniform,
                      .linear_weight = Initial::normal(0, 0.02),
                      .linear_bias = Initial::constant(0)});
    Value x = tokens(net, image, size);
    for (std::int64_t i = 0; i < size.layers; ++i)
      x = net.scope(concat("blocks.", i), [&] { return block(net, x, size); });
    x = net.reshape(net.slice(x, 1, 0, 1, "class"), {net.batch(), size.width}, "features");
    return net.linear(net.layer_norm(x, "norm", vit_epsilon), classes, "head");
  };
}

namespace {

BuildNetwork vit_small(ImageShape image, std::int64_t classes) { return vit({}, image, classes); }

}  // namespace

}  // namespace narrowgauge

NG_MODEL(vit_small, 9,
         {.name = "vit-small",
          .image = photo,
          .classes = photo_classes,
          .least_side = 16,
          .side_step = 16,
          .padded_side = 16},
         narrowgauge::vit_small)
