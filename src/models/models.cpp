// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/models.h"

#include "models/builders.h"

namespace narrowgauge {

Value image_input(Network& net, ImageShape image) {
  return net.input("images", {net.batch(), image.channels, image.height, image.width});
}

namespace {

struct BuiltIn {
  ModelFacts facts;
  BuildNetwork (*build)(ImageShape, std::int64_t classes);  // nullptr: takes no images
};

constexpr ImageShape photo{3, 224, 224};
constexpr std::int64_t photo_classes = 1000;
constexpr TextShape characters{.sequence = 128, .vocabulary = 66};  // of a language in ASCII

// densenet121 and vgg19 halve the sides several times, which sets their least side.
constexpr BuiltIn built_in[] = {
    {{.name = "mlp", .least_side = 1}, mlp},
    {{.name = "lenet"}, lenet},
    {{.name = "resnet20", .image = {1, 32, 32}, .padded_side = 32}, resnet20},
    {{.name = "resnet18", .image = photo, .classes = photo_classes}, resnet18},
    {{.name = "resnet50", .image = photo, .classes = photo_classes}, resnet50},
    {{.name = "vgg19",
      .image = photo,
      .classes = photo_classes,
      .least_side = 32,
      .padded_side = 32},
     vgg19},
    {{.name = "densenet121",
      .image = photo,
      .classes = photo_classes,
      .least_side = 29,
      .padded_side = 32},
     densenet121},
    {{.name = "mobilenet_v2", .image = photo, .classes = photo_classes}, mobilenet_v2},
    {{.name = "vit-small",
      .image = photo,
      .classes = photo_classes,
      .least_side = 16,
      .side_step = 16,
      .padded_side = 16},
     vit_small},
    {{.name = "unet-small",
      .image = {3, 256, 256},
      .classes = 2,
      .least_side = 16,
      .side_step = 8,
      .padded_side = 16,
      .output = OutputKind::pixels},
     unet_small},
    {{.name = "autoencoder",
      .image = {3, 64, 64},
      .side_step = 8,
      .padded_side = 8,
      .output = OutputKind::image},
     autoencoder},
    {{.name = "bert-base", .input = InputKind::tokens, .classes = 2}, nullptr},
    {{.name = "tiny-transformer", .input = InputKind::tokens, .text = characters, .classes = 0},
     nullptr},
    {{.name = "lstm", .input = InputKind::tokens, .text = characters, .classes = 0}, nullptr},
};

const BuiltIn& find(std::string_view name) {
  std::string names;
  for (const BuiltIn& model : built_in) {
    if (model.facts.name == name) return model;
    names += concat(names.empty() ? "" : ", ", model.facts.name);
  }
  throw ModelError(concat("model: unknown name '", name, "', expected one of ", names));
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const BuiltIn& model : built_in) names.emplace_back(model.facts.name);
  return names;
}

const ModelFacts& model_facts(std::string_view name) { return find(name).facts; }

BuildNetwork find_model(std::string_view name, ImageShape image, std::int64_t classes) {
  const BuiltIn& model = find(name);
  require(model.build, "model: ", name, " takes tokens, not images");
  require(image.channels >= 1 && classes >= 1, "model: expected channels and classes of 1 or more",
          ", got ", image.channels, " and ", classes);
  const std::int64_t least = model.facts.least_side, step = model.facts.side_step;
  require<ModelError>(image.height >= least && image.width >= least, "model: images of ",
                      image.height, 'x', image.width, " are too small for ", name, ", ", least, 'x',
                      least, " is the least");
  require<ModelError>(image.height % step == 0 && image.width % step == 0, "model: images of ",
                      image.height, 'x', image.width, " do not fit ", name,
                      ": height and width must be multiples of ", step);
  return model.build(image, classes);
}

}  // namespace narrowgauge
