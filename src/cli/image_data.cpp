// SPDX-License-Identifier: Apache-2.0
#include "cli/image_data.h"

#include <algorithm>
#include <vector>

#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/shape_flag.h"

namespace narrowgauge::cli {
namespace {

// Makes the only input images [N,C,H,W]: images [N,H,W] have one channel, and each of F numbers
// [N,F] is a channel of one pixel, so that it is normalised by itself.
void take_as_images(DataSet& set, const std::string& data) {
  const TensorType type = set.input().type();
  Dims dims = set.input().dims();
  if (dims.size() == 3) dims.insert(dims.begin() + 1, 1);
  if (dims.size() == 2) dims.insert(dims.end(), {1, 1});
  const bool pixels = type.dtype == DType::u8 || type.dtype == DType::f32;
  require<DataError>(dims.size() == 4 && pixels, data,
                     ": expected images or rows of numbers as u8 ",
                     "or f32 [N,C,H,W], [N,H,W] or [N,F], found ", type);
  require<DataError>(set.classes > 0, data, ": expected labels of classes, found ",
                     set.target().type());
  set.inputs = {{"images", set.input().reshaped(dims)}};
}

DataSplit load(const std::string& data) {
  show_status(concat("loading ", data));
  DataSplit split = load_data(data);
  show_status("");
  for (DataSet* set : {&split.train, &split.test}) take_as_images(*set, data);
  return split;
}

ImageShape shape_of(const DataSet& set) {
  const Dims& dims = set.input().dims();
  return {dims.at(1), dims.at(2), dims.at(3)};
}

ImageData sources(DataSplit split, ImageData data) {
  data.training_size = split.train.size();
  data.test_size = split.test.size();
  data.training = std::make_shared<TensorSource>(split.train, data.transform);
  data.test = std::make_shared<TensorSource>(split.test, data.transform);
  return data;
}

}  // namespace

ImageShape network_image(const std::string& model, ImageShape drawn) {
  const ModelFacts& facts = model_facts(model);
  const auto fitting = [&](std::int64_t side) {
    const std::int64_t step = facts.side_step;
    return (std::max(side, facts.padded_side) + step - 1) / step * step;
  };
  return {drawn.channels, fitting(drawn.height), fitting(drawn.width)};
}

ImageData prepare_data(const std::string& data, const std::string& model) {
  DataSplit split = load(data);
  ImageData result;
  result.name = data;
  result.drawn = shape_of(split.train);
  result.image = network_image(model, result.drawn);
  result.classes = split.train.classes;
  if (result.image.height != result.drawn.height || result.image.width != result.drawn.width) {
    result.transform.height = result.image.height;
    result.transform.width = result.image.width;
  }
  ChannelStatistics statistics = channel_statistics(split.train.input());
  for (float& deviation : statistics.deviation)
    if (deviation <= 0) deviation = 1;  // images of one grey
  result.transform.mean = std::move(statistics.mean);
  result.transform.deviation = std::move(statistics.deviation);
  return sources(std::move(split), std::move(result));
}

ImageData prepare_data(const std::string& data, const ImageData& trained) {
  DataSplit split = load(data);
  ImageData result = trained;
  result.name = data;
  const std::string found = image_text(shape_of(split.train));
  require<DataError>(found == image_text(trained.drawn), data, ": expected images of ",
                     image_text(trained.drawn), " as the run was trained on, found ", found);
  require<DataError>(split.test.classes <= trained.classes, data, ": has ", split.test.classes,
                     " classes, the run was trained on ", trained.classes);
  return sources(std::move(split), std::move(result));
}

ImageShape parse_image(const std::string& text) {
  const Dims sizes = dims_of(text).value_or(Dims{});
  require(sizes.size() == 3 && *std::min_element(sizes.begin(), sizes.end()) > 0,
          "--image: expected channels, height and width such as 3x32x32, got \"", text, '"');
  return {sizes[0], sizes[1], sizes[2]};
}

std::string image_text(const ImageShape& image) {
  return concat(image.channels, 'x', image.height, 'x', image.width);
}

}  // namespace narrowgauge::cli
