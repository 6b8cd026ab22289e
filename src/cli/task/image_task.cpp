// SPDX-License-Identifier: Apache-2.0
#include "cli/task/image_task.h"

#include <algorithm>
#include <charconv>

#include "base/text/nearest.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/task/number_task.h"

namespace narrowgauge::cli {

ImageShape ImageFacts::image() const {
  return {transform.channels > 0 ? transform.channels : drawn.channels,
          transform.height > 0 ? transform.height : drawn.height,
          transform.width > 0 ? transform.width : drawn.width};
}

ImageShape shape_of(const DataSet& set) {
  const Dims& dims = set.input().dims();
  return {dims.at(1), dims.at(2), dims.at(3)};
}

namespace {

// Numbers [N] or [N,K] become f32 [N,K].
void take_numbers(DataSet& set, const std::string& data) {
  const Tensor& target = set.target();
  const Dims& dims = target.dims();
  require<DataError>(is_floating(target.dtype()) && !dims.empty() && dims.size() <= 2, data,
                     ": expected labels of classes, or numbers as targets, found ", target.type());
  const Dims rows{dims[0], dims.size() == 2 ? dims[1] : 1};
  set.targets = {{"labels", target.cast(DType::f32).reshaped(rows)}};
}

void take_set_as_images(DataSet& set, const std::string& data) {
  const TensorType type = set.input().type();
  Dims dims = set.input().dims();
  if (dims.size() == 3) dims.insert(dims.begin() + 1, 1);
  if (dims.size() == 2) dims.insert(dims.end(), {1, 1});
  const bool pixels = type.dtype == DType::u8 || type.dtype == DType::f32;
  require<DataError>(dims.size() == 4 && pixels, data,
                     ": expected images or rows of numbers as u8 ",
                     "or f32 [N,C,H,W], [N,H,W] or [N,F], found ", type);
  set.inputs = {{"images", set.input().reshaped(dims)}};
  if (set.classes == 0) take_numbers(set, data);
}

// What the settings say of mean and deviation goes before what was measured.
void take_given(ImageFacts& facts, const Settings& settings) {
  if (!settings.mean.empty()) facts.transform.mean = settings.mean;
  if (!settings.deviation.empty()) facts.transform.deviation = settings.deviation;
}

// Images of one grey have no deviation.
void normalize_by(ImageFacts& facts, ChannelStatistics statistics, const Settings& settings) {
  for (float& deviation : statistics.deviation)
    if (deviation <= 0) deviation = 1;
  facts.transform.mean = std::move(statistics.mean);
  facts.transform.deviation = std::move(statistics.deviation);
  take_given(facts, settings);
}

// Pads and repeats to the shape that the network wants; normalizes by the training set.
ImageFacts facts_for(const DataSet& set, ImageShape wanted, const Settings& settings) {
  ImageFacts facts{.drawn = shape_of(set),
                   .classes = set.classes,
                   .transform = {},
                   .class_names = set.class_names};
  if (wanted.height != facts.drawn.height || wanted.width != facts.drawn.width) {
    facts.transform.height = wanted.height;
    facts.transform.width = wanted.width;
  }
  if (wanted.channels != facts.drawn.channels) facts.transform.channels = wanted.channels;
  normalize_by(facts, channel_statistics(set.input(), ImageLayout::nchw), settings);
  if (set.classes == 0) facts.numbers = numbers_in(set.target(), settings.data);
  return facts;
}

void require_as_trained(const DataSplit& split, const ImageFacts& trained,
                        const std::string& data) {
  const std::string found = image_text(shape_of(split.train));
  require<DataError>(found == image_text(trained.drawn), data, ": expected images of ",
                     image_text(trained.drawn), " as the run was trained on, found ", found);
  const std::int64_t numbers = split.test.classes > 0 ? 0 : split.test.target().dims()[1];
  require<DataError>(numbers == trained.numbers.count(), data, ": has targets of ", numbers,
                     " numbers, the run was trained on ", trained.numbers.count());
  require<DataError>(split.test.classes <= trained.classes, data, ": has ", split.test.classes,
                     " classes, the run was trained on ", trained.classes);
}

ImageInput changing_input(const ImageFacts& facts, const Settings& settings) {
  ImageInput input = input_of(facts);
  input.augment = settings.samples.augment;
  input.seed = static_cast<std::uint64_t>(settings.seed);
  input.strict = settings.samples.strict;
  return input;
}

// The class of a trained network that a folder of pictures stands for. One whose classes have no
// names has numbers.
std::int64_t class_of(const std::string& name, const ImageFacts& trained, const std::string& data) {
  const std::vector<std::string>& names = trained.class_names;
  if (const auto found = std::ranges::find(names, name); found != names.end())
    return found - names.begin();
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc{} && end == name.data() + name.size();
  require<DataError>(names.empty() && is_number && number >= 0 && number < trained.classes, data,
                     ": has a class '", name, "', and the run was trained on ",
                     names.empty() ? concat("classes 0 to ", trained.classes - 1)
                                   : concat("others", suggestion(name, names)));
  return number;
}

ImageFolder as_trained(ImageFolder folder, const ImageFacts& trained, const std::string& data) {
  if (folder.classes.empty()) return folder;
  std::vector<std::int64_t> labels;
  for (const std::string& name : folder.classes) labels.push_back(class_of(name, trained, data));
  for (auto* files : {&folder.training, &folder.test})
    for (ImageFile& file : *files) file.label = labels[static_cast<std::size_t>(file.label)];
  folder.classes = trained.class_names;
  return folder;
}

void measure(ImageFacts& facts, const std::vector<ImageFile>& files, const Settings& settings) {
  show_status("measuring mean and deviation of the pictures");
  normalize_by(facts, channel_statistics(files, input_of(facts)), settings);
  show_status("");
}

ImageFacts facts_for(const ImageFolder& folder, ImageShape wanted, const Settings& settings) {
  ImageFacts facts{.drawn = wanted,
                   .classes = std::max<std::int64_t>(std::ssize(folder.classes), 1),
                   .transform = {},
                   .class_names = folder.classes};
  measure(facts, folder.training, settings);
  return facts;
}

// Pictures in files, which are counted where they are damaged.
void take_sources(Task& task, const std::shared_ptr<ImageSource>& training,
                  const std::shared_ptr<ImageSource>& test, ImageFacts facts) {
  task.classes = facts.classes;
  task.training = training;
  task.test = test;
  task.pictures = {training, test};
  task.images = std::move(facts);
}

}  // namespace

void take_as_images(DataSplit& split, const std::string& data) {
  for (DataSet* set : {&split.train, &split.test}) take_set_as_images(*set, data);
}

ImageInput input_of(const ImageFacts& facts) {
  const ImageShape image = facts.image();
  return {.channels = image.channels,
          .height = image.height,
          .width = image.width,
          .statistics = {facts.transform.mean, facts.transform.deviation},
          .whole = facts.masks,
          .layout = ImageLayout::nchw};
}

void take_images(Task& task, const DataSplit& split, const Settings& settings, ImageShape wanted,
                 const std::optional<ImageFacts>& trained) {
  if (trained) require_as_trained(split, *trained, settings.data);
  ImageFacts facts = trained ? *trained : facts_for(split.train, wanted, settings);
  take_given(facts, settings);
  facts.transform.layout = ImageLayout::nchw;
  task.classes = facts.classes;
  task.test = std::make_shared<TensorSource>(split.test, facts.transform);
  if (settings.samples.augment.empty())
    task.training = std::make_shared<TensorSource>(split.train, facts.transform);
  else
    task.training = std::make_shared<ImageSource>(split.train, changing_input(facts, settings));
  task.images = std::move(facts);
}

void take_pictures(Task& task, const ImageFolder& folder, const Settings& settings,
                   ImageShape wanted, const std::optional<ImageFacts>& trained) {
  const ImageFolder known = trained ? as_trained(folder, *trained, settings.data) : folder;
  ImageFacts facts = trained ? *trained : facts_for(known, wanted, settings);
  take_given(facts, settings);
  ImageInput input = input_of(facts);
  input.strict = settings.samples.strict;
  const auto test = std::make_shared<ImageSource>(known.test, input);
  const auto training = std::make_shared<ImageSource>(
      known.training.empty() ? known.test : known.training, changing_input(facts, settings));
  take_sources(task, training, test, std::move(facts));
  task.test_files = known.test;
}

void take_masks(Task& task, const SegmentationFolder& folder, const Settings& settings,
                ImageShape wanted, const std::optional<ImageFacts>& trained) {
  require<DataError>(!trained || folder.classes <= trained->classes, settings.data, ": has ",
                     folder.classes, " classes, the run was trained on ",
                     trained ? trained->classes : 0);
  const auto pictures_of = [](const std::vector<MaskedImage>& pairs) {
    std::vector<ImageFile> files;
    for (const MaskedImage& pair : pairs) files.push_back({pair.path, -1});
    return files;
  };
  ImageFacts facts{.drawn = wanted, .classes = folder.classes, .transform = {}, .masks = true};
  if (trained)
    facts = *trained;
  else
    measure(facts, pictures_of(folder.training), settings);
  take_given(facts, settings);
  ImageInput input = input_of(facts);
  input.strict = settings.samples.strict;
  const auto test = std::make_shared<ImageSource>(folder.test, folder.foreground, input);
  const auto training =
      std::make_shared<ImageSource>(folder.training.empty() ? folder.test : folder.training,
                                    folder.foreground, changing_input(facts, settings));
  take_sources(task, training, test, std::move(facts));
  task.test_files = pictures_of(folder.test);
}

}  // namespace narrowgauge::cli
