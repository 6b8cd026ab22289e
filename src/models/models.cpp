// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/models.h"

#include <algorithm>

#include "models/table.h"

namespace narrowgauge {

Value image_input(Network& net, ImageShape image) {
  return net.input("images", {net.batch(), image.channels, image.height, image.width});
}

namespace {

// In their order, which is found once: facts are asked for often.
const std::vector<const BuiltInModel*>& models() {
  static const auto& all = immortal<const std::vector<const BuiltInModel*>>([] {
    std::vector<const BuiltInModel*> found = built_in_models();
    std::ranges::sort(found, {}, &BuiltInModel::place);
    return found;
  }());
  return all;
}

const BuiltInModel& find(std::string_view name) {
  std::string names;
  for (const BuiltInModel* model : models()) {
    if (model->facts.name == name) return *model;
    names += concat(names.empty() ? "" : ", ", model->facts.name);
  }
  throw ModelError(concat("model: unknown name '", name, "', expected one of ", names));
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const BuiltInModel* model : models()) names.emplace_back(model->facts.name);
  return names;
}

const ModelFacts& model_facts(std::string_view name) { return find(name).facts; }

BuildNetwork find_model(std::string_view name, ImageShape image, std::int64_t classes) {
  const BuiltInModel& model = find(name);
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
