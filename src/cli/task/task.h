// SPDX-License-Identifier: Apache-2.0
// What is trained: a network with its loss, and data made ready for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/task/data_facts.h"
#include "cli/task/settings.h"
#include "cli/task/text_task.h"
#include "narrowgauge/images.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

// Targets that are numbers, K of each sample, over the training set.
struct NumberFacts {
  std::vector<float> mean, deviation;  // of each

  bool empty() const { return mean.empty(); }
  std::int64_t count() const { return std::ssize(mean); }
};

// How images become inputs, as a run keeps it.
struct ImageFacts {
  ImageShape drawn;  // as they lie in the set; of pictures in files: as they are resized
  std::int64_t classes = 0;
  ImageTransform transform;                // padding, channels, mean and deviation
  std::vector<std::string> class_names{};  // one for each class, where they have names
  bool masks = false;                      // whether classes are of pixels, and not of images
  NumberFacts numbers{};                   // of targets that are no classes

  // What the network gives for an image or pixel: scores of classes, or numbers.
  std::int64_t outputs() const { return numbers.empty() ? classes : numbers.count(); }

  ImageShape image() const;  // as the network sees them
};

struct Task {
  BuildNetwork build;
  Loss loss;
  std::string data;  // name or path of the set
  std::shared_ptr<DataSource> training, test;
  std::int64_t training_size = 0, test_size = 0;
  std::int64_t classes = 0;          // of the labels; 0: these are no classes
  std::optional<TextFacts> text;     // of a language model
  std::optional<ImageFacts> images;  // nothing: samples are taken as they are
  std::optional<DataFacts> facts;    // of the data, where they are to train on
  std::vector<std::shared_ptr<const ImageSource>> pictures;  // of these, the sources from files
  std::vector<ImageFile> test_files;                         // of these, the samples of the test
  std::string table;  // of a table: what its columns become (TableOptions::schema)

  std::int64_t damaged() const;  // pictures that could not be read so far
};

// Makes a network and its data ready. Throws ModelError, DataError and UsageError.
Task prepare_task(const Settings& settings);
// Makes a trained network and its data ready: images become inputs as they did in its training,
// unless the settings say otherwise. Throws DataError if the data do not fit.
Task prepare_task(const Settings& settings, const std::optional<ImageFacts>& trained);
// Makes ready for training, or for going on with it where the network is trained already: finds out
// which data these are.
Task prepare_training(const Settings& settings,
                      const std::optional<ImageFacts>& trained = std::nullopt);
// How many samples there are to train on, of data that are no texts. Throws DataError.
std::int64_t count_training_samples(const Settings& settings);
// The network and its loss alone, of a run whose data may be gone.
Task network_task(const Settings& settings, const std::optional<ImageFacts>& trained);
// The network of a run, with the weights that it begins with.
Model model_of(const Settings& settings, const std::optional<ImageFacts>& trained);

// Whether the network learns to give its input again.
bool gives_image(const Settings& settings);

// The shape in which a built-in network sees such images: padded to the sides that it needs.
ImageShape network_image(const std::string& model, ImageShape drawn);

ImageShape parse_image(const std::string& text);  // "3x32x32"; throws UsageError
std::string image_text(const ImageShape& image);

}  // namespace narrowgauge::cli
