// SPDX-License-Identifier: Apache-2.0
// Data of images, in memory or in files, as inputs of a network.
#pragma once

#include <optional>
#include <string>

#include "cli/task/task.h"
#include "narrowgauge/images.h"

namespace narrowgauge::cli {

ImageShape shape_of(const DataSet& set);  // of its images [N,C,H,W]

// Makes the only input of both parts images [N,C,H,W]: images [N,H,W] have one channel, and each of
// F numbers [N,F] is a channel of one pixel, so that it is normalised by itself. Images have their
// channels first (image_layout.h). Throws DataError naming the data for a set of another kind.
void take_as_images(DataSplit& split, const std::string& data);

// Makes a set in memory the task's sources: images become `wanted` by black around them and
// repeated channels, normalized by the training set unless the settings say how. Of a trained
// network they become what they were in its training. Throws DataError where they do not fit.
void take_images(Task& task, const DataSplit& split, const Settings& settings, ImageShape wanted,
                 const std::optional<ImageFacts>& trained);

// Makes pictures in files, which are resized, the task's sources. Classes are those of the trained
// network, by name.
void take_pictures(Task& task, const ImageFolder& folder, const Settings& settings,
                   ImageShape wanted, const std::optional<ImageFacts>& trained);

// Makes pictures with masks the task's sources.
void take_masks(Task& task, const SegmentationFolder& folder, const Settings& settings,
                ImageShape wanted, const std::optional<ImageFacts>& trained);

// How a picture becomes an input of a trained network.
ImageInput input_of(const ImageFacts& facts);

}  // namespace narrowgauge::cli
