// SPDX-License-Identifier: Apache-2.0
// The built-in networks by name. Each is entered beside its builder, and the build finds its mark.
#pragma once

#include <vector>

#include "base/stem_table.h"
#include "narrowgauge/models.h"

namespace narrowgauge {

struct BuiltInModel {
  int place = 0;  // in lists of networks, which begin with the smallest
  ModelFacts facts;
  BuildNetwork (*build)(ImageShape, std::int64_t classes) = nullptr;  // none: takes no images
};

std::vector<const BuiltInModel*> built_in_models();

// The input "images" of a network.
Value image_input(Network& net, ImageShape image);

inline constexpr ImageShape photo{3, 224, 224};
inline constexpr std::int64_t photo_classes = 1000;                        // of ImageNet
inline constexpr TextShape characters{.sequence = 128, .vocabulary = 66};  // of a language in ASCII

// Found on tinyshakespeare, by characters.
inline constexpr TrainingHabits habits_of_text{
    .optimizer = "adamw",
    .epochs = 8,
    .batch = 16,
    .clip = 1,
    .warms_up = true,
    .sgd = {.weight_decay = 0},
    .adamw = {.learning_rate = 0.002, .weight_decay = 0.1, .beta2 = 0.99}};

}  // namespace narrowgauge

// NG_MODEL(stem, place, facts, build) enters a network.
#define NG_MODEL(stem, ...) NG_STEM(model_table, BuiltInModel, stem, __VA_ARGS__)
