// SPDX-License-Identifier: Apache-2.0
// Images that a network gives again, and how far they are from what they were.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/predict/picture_answers.h"
#include "cli/predict/predictions.h"
#include "cli/task/task.h"

namespace narrowgauge::cli {

// Predicts and reports the first `count` samples of a source, image by image: the root of the mean
// squared difference, in deviations of the training set, so that images unlike those of the
// training stand out. `files` are those of all samples of the source, or none. Images are saved in
// the size that the network gives.
void predict_images(const Predict& predict, const std::shared_ptr<DataSource>& source,
                    const std::vector<ImageFile>& files, std::int64_t count, std::int64_t batch,
                    const ImageFacts& facts, const PictureOptions& options);

}  // namespace narrowgauge::cli
