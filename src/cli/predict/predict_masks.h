// SPDX-License-Identifier: Apache-2.0
// Masks that a network for pixels predicts for pictures.
#pragma once

#include <vector>

#include "cli/predict/picture_answers.h"
#include "cli/predict/predictions.h"
#include "cli/task/task.h"

namespace narrowgauge::cli {

// Predicts and reports picture by picture: the share of each class among the pixels. Masks have the
// size of their pictures, and 255 for class 1 where there are two classes.
void predict_masks(const Predict& predict, const std::vector<ImageFile>& files,
                   const ImageFacts& facts, const PictureOptions& options);

}  // namespace narrowgauge::cli
