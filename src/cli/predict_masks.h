// SPDX-License-Identifier: Apache-2.0
// Masks that a network for pixels predicts for pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/predictions.h"
#include "cli/task.h"

namespace narrowgauge::cli {

struct MaskOptions {
  std::optional<std::string> save{};  // folder for masks as PNG, or a table (.csv)
  bool strict = false;                // whether a damaged picture is an error
  bool json = false, quiet = false;
};

// Predicts and reports picture by picture: the share of each class among the pixels. Masks have the
// size of their pictures, and 255 for class 1 where there are two classes.
void predict_masks(const Predict& predict, const std::vector<ImageFile>& files,
                   const ImageFacts& facts, const MaskOptions& options);

}  // namespace narrowgauge::cli
