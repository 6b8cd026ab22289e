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

// Prepares a set for training a model. Throws DataError.
ImageData prepare_data(const std::string& data, const std::string& model);
// Prepares a set with a trained network's transform. Throws DataError if it does not fit.
ImageData prepare_data(const std::string& data, const ImageData& trained);

// The shape in which a network sees such images: padded to the sides that it needs.
ImageShape network_image(const std::string& model, ImageShape drawn);

ImageShape parse_image(const std::string& text);  // "3x32x32"; throws UsageError
std::string image_text(const ImageShape& image);

}  // namespace narrowgauge::cli
