// SPDX-License-Identifier: Apache-2.0
#include "cli/data/survey.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <unordered_map>

#include "base/hash/sha256.h"
#include "base/threads/parallel.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "io/files/shared_bytes.h"
#include "io/images/exif.h"
#include "io/pictures/formats.h"
#include "io/pictures/image.h"

namespace narrowgauge::cli {
namespace {

struct PictureFacts {
  std::int64_t height = 0, width = 0;
  std::string format, damage, digest;
};

PictureFacts look_at(const std::string& path) {
  PictureFacts facts;
  try {
    const SharedBytes bytes = map_file(path);
    facts.digest = sha256_hex(std::as_bytes(std::span(bytes.view())));
    const ImageFormat* const format = image_format_of(bytes.view());
    const bool known = format != nullptr && format->decode != nullptr;
    const Tensor pixels = known ? upright(format->decode(bytes.view(), most_pixels_of_image),
                                          exif_orientation(bytes.view()))
                                : decode_image(bytes.view(), path, ImageColours::rgb);
    facts.height = pixels.dims()[0];
    facts.width = pixels.dims()[1];
    const char* const colours = pixels.dims()[2] == 1 ? ", grey" : ", RGB";
    facts.format = concat(format->name, format->is_sound ? "" : colours);
  } catch (const DataError& error) {
    const std::string text = error.what();
    facts.damage = text.starts_with(path) ? text : concat(path, ": ", text);
  }
  return facts;
}

std::vector<PictureFacts> look_at_all(const std::vector<ImageFile>& files) {
  std::vector<PictureFacts> all(files.size());
  std::atomic<std::int64_t> done = 0;
  constexpr std::int64_t piece = 8;
  parallel_for(std::ssize(files), piece, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      all[i] = look_at(files[i].path);
    const std::int64_t so_far = done += end - begin;
    if (stderr_is_terminal())
      show_status(concat("read ", grouped(so_far), " of ", grouped(std::ssize(files))));
  });
  show_status("");
  return all;
}

void count_classes(DataSurvey& found, const ImageFolder& folder) {
  for (const std::string& name : folder.classes) found.classes.push_back({name});
  for (const ImageFile& file : folder.training)
    ++found.classes[static_cast<std::size_t>(file.label)].training;
  for (const ImageFile& file : folder.test)
    ++found.classes[static_cast<std::size_t>(file.label)].test;
}

DataSurvey survey_folder(const ImageFolder& folder) {
  DataSurvey found{.kind = "pictures in a folder for each class"};
  found.training = std::ssize(folder.training);
  found.test = std::ssize(folder.test);
  found.other_files = folder.other_files;
  count_classes(found, folder);
  std::vector<ImageFile> files = folder.training;
  files.insert(files.end(), folder.test.begin(), folder.test.end());
  const std::vector<PictureFacts> facts = look_at_all(files);
  std::unordered_map<std::string, std::size_t> first_of;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const PictureFacts& picture = facts[i];
    if (!picture.damage.empty()) {
      found.damaged.push_back(picture.damage);
      continue;
    }
    ++found.sizes[{picture.height, picture.width}];
    ++found.formats[picture.format];
    const auto [place, is_new] = first_of.emplace(picture.digest, i);
    if (is_new) continue;
    const std::size_t first = place->second, trained = folder.training.size();
    found.copies.push_back(concat(files[i].path, " is ", files[first].path));
    found.copies_across += (first < trained) != (i < trained);
    found.copies_of_other_class += files[first].label != files[i].label;
  }
  return found;
}

// Why a pair cannot be used; "" for one that can, whose pixels are counted.
std::string count_pixels(const MaskedImage& pair, const SegmentationFolder& folder,
                         const PictureFacts& picture, std::vector<std::int64_t>& counts) {
  if (!picture.damage.empty()) return picture.damage;
  try {
    const Tensor mask = read_mask_of(pair.path, pair.mask, picture.height, picture.width);
    for (const std::uint8_t number : mask.values<std::uint8_t>()) {
      const std::size_t label = folder.foreground ? number != 0 : number;
      if (label < counts.size()) ++counts[label];
    }
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

DataSurvey survey_masks(const SegmentationFolder& folder) {
  DataSurvey found{.kind = "pictures with masks"};
  found.training = std::ssize(folder.training);
  found.test = std::ssize(folder.test);
  found.other_files = folder.other_files;
  for (std::int64_t c = 0; c < folder.classes; ++c)
    found.classes.push_back(
        {folder.foreground ? (c == 0 ? "background" : "foreground") : std::to_string(c)});
  const auto take = [&](const std::vector<MaskedImage>& pairs, std::int64_t ClassCount::*part) {
    std::vector<std::int64_t> counts(found.classes.size());
    for (const MaskedImage& pair : pairs) {
      const PictureFacts picture = look_at(pair.path);
      const std::string damage = count_pixels(pair, folder, picture, counts);
      if (!damage.empty()) {
        found.damaged.push_back(damage);
        continue;
      }
      ++found.sizes[{picture.height, picture.width}];
      ++found.formats[picture.format];
    }
    for (std::size_t c = 0; c < counts.size(); ++c) found.classes[c].*part = counts[c];
  };
  take(folder.training, &ClassCount::training);
  take(folder.test, &ClassCount::test);
  return found;
}

ArrayFacts facts_of_array(const NamedTensor& array) {
  ArrayFacts facts{.name = array.name, .type = array.tensor.type()};
  double sum = 0;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < array.tensor.size(); ++i) {
    const double value = array.tensor.at(i);
    if (!std::isfinite(value)) {
      ++facts.not_finite;
      continue;
    }
    facts.least = finite == 0 ? value : std::min(facts.least, value);
    facts.most = finite == 0 ? value : std::max(facts.most, value);
    sum += value;
    ++finite;
  }
  facts.mean = finite > 0 ? sum / static_cast<double>(finite) : 0;
  return facts;
}

DataSurvey survey_arrays(const DataSplit& split) {
  DataSurvey found{.kind = "arrays"};
  found.training = split.train.size();
  found.test = split.test.size();
  found.features = split.train.feature_names;
  for (const auto* arrays : {&split.train.inputs, &split.train.targets})
    for (const NamedTensor& array : *arrays) found.arrays.push_back(facts_of_array(array));
  for (std::int64_t label = 0; label < split.train.classes; ++label) {
    const auto place = static_cast<std::size_t>(label);
    const std::vector<std::string>& names = split.train.class_names;
    found.classes.push_back({place < names.size() ? names[place] : std::to_string(label)});
  }
  const auto count = [&](const DataSet& set, std::int64_t ClassCount::*part) {
    if (set.classes == 0) return;
    for (std::int64_t i = 0; i < set.size(); ++i)
      ++(found.classes.at(static_cast<std::size_t>(set.target().at(i))).*part);
  };
  count(split.train, &ClassCount::training);
  count(split.test, &ClassCount::test);
  return found;
}

}  // namespace

DataSurvey survey(const Data& data) {
  if (const auto* const folder = std::get_if<ImageFolder>(&data)) return survey_folder(*folder);
  if (const auto* const masked = std::get_if<SegmentationFolder>(&data))
    return survey_masks(*masked);
  return survey_arrays(std::get<DataSplit>(data));
}

}  // namespace narrowgauge::cli
