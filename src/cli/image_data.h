// SPDX-License-Identifier: Apache-2.0
// A set of images made ready for a network: padded where it needs that, normalised by the training
// set's mean and deviation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "narrowgauge/data.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

struct ImageData {
  std::string name;
  std::shared_ptr<DataSource> training, test;
  std::int64_t training_size = 0, test_size = 0;
  ImageShape drawn;  // as they lie in the set
  ImageShape image;  // as the network sees them
  std::int64_t classes = 0;
  ImageTransform transform;
};

// Throws DataError.
ImageData prepare_data(const std::string& data, const std::string& model);
// For a trained network: its transform. Throws DataError when images or classes do not fit.
ImageData prepare_data(const std::string& data, const ImageData& trained);

// What the network sees of such images: padded to the sides that it wants.
ImageShape network_image(const std::string& model, ImageShape drawn);

ImageShape parse_image(const std::string& text);  // "3x32x32"; throws UsageError
std::string image_text(const ImageShape& image);

}  // namespace narrowgauge::cli
