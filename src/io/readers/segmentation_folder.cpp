// SPDX-License-Identifier: Apache-2.0
// Folders of pictures with a mask for each.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "io/pictures/image.h"
#include "io/pictures/pictures.h"
#include "io/readers/picture_files.h"
#include "io/readers/reader.h"
#include "io/readers/test_share.h"

namespace narrowgauge {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_masks_looked_at = 256;  // masks that tell what their numbers are

// Files by their path in a folder without the ending.
std::map<std::string, fs::path> by_stem(const fs::path& folder) {
  std::map<std::string, fs::path> found;
  each_file(folder, [&](const fs::path& file) {
    if (!is_image_name(file)) return true;
    const std::string stem = file.lexically_relative(folder).replace_extension().generic_string();
    const auto [place, is_new] = found.emplace(stem, file);
    require<DataError>(is_new, file.string(), ": ", place->second.filename().string(),
                       " has the same name but for its ending");
    return true;
  });
  return found;
}

std::vector<MaskedImage> pairs_in(const fs::path& folder, std::vector<std::string>& others) {
  const fs::path masks = masks_in(folder);
  require<DataError>(!masks.empty(), folder.string(),
                     ": expected a folder images and one of masks, labels, annotations or "
                     "instances, found not both");
  const auto pictures = by_stem(folder / "images");
  auto partners = by_stem(masks);
  std::vector<MaskedImage> pairs;
  for (const auto& [stem, picture] : pictures) {
    const auto partner = partners.find(stem);
    if (partner == partners.end()) {
      others.push_back(picture.string());
      continue;
    }
    pairs.push_back({picture.string(), partner->second.string()});
    partners.erase(partner);
  }
  for (const auto& [stem, mask] : partners) others.push_back(mask.string());
  require<DataError>(!pairs.empty(), folder.string(),
                     ": no picture has a mask of the same name in ", masks.filename().string());
  return pairs;
}

// How often masks have each number.
std::array<std::int64_t, 256> numbers_in(const std::vector<MaskedImage>& pairs) {
  std::array<std::int64_t, 256> counts{};
  const std::size_t step = std::max<std::size_t>(pairs.size() / most_masks_looked_at, 1);
  for (std::size_t i = 0; i < pairs.size(); i += step) {
    try {
      const Tensor mask = read_mask(pairs[i].mask);
      for (const std::uint8_t number : mask.values<std::uint8_t>()) ++counts[number];
    } catch (const DataError&) {
      // The pair is left out where it is read.
    }
  }
  return counts;
}

void find_mask_classes(SegmentationFolder& found, const fs::path& masks) {
  const std::array<std::int64_t, 256> counts = numbers_in(found.training);
  const auto largest_below = [&](std::size_t end) {
    std::size_t largest = 0;
    for (std::size_t i = 0; i < end; ++i)
      if (counts[i] > 0) largest = i;
    return static_cast<std::int64_t>(largest);
  };
  const bool any = std::ranges::any_of(counts, [](std::int64_t count) { return count > 0; });
  require<DataError>(any, masks.string(), ": none of the masks can be read");
  const std::int64_t largest = largest_below(unknown_pixel);
  const bool white = largest == 0 && counts[unknown_pixel] > 0;
  found.foreground = white || masks.filename() == "instances";
  found.classes = found.foreground ? 2 : largest + 1;
  require<DataError>(found.classes >= 2, masks.string(), ": all pixels of the masks are 0");
}

}  // namespace

SegmentationFolder read_segmentation_folder(const std::string& folder, const DataOptions& options) {
  check_test_share(options.test_share, "data");
  SegmentationFolder found{.path = folder};
  if (const FolderParts parts = parts_in(folder)) {
    found.training = pairs_in(parts.training, found.other_files);
    found.test = pairs_in(parts.test, found.other_files);
    find_mask_classes(found, masks_in(parts.training));
    return found;
  }
  found.training = pairs_in(folder, found.other_files);
  find_mask_classes(found, masks_in(folder));
  std::vector<fs::path> files;
  for (const MaskedImage& pair : found.training) files.emplace_back(pair.path);
  const std::vector<bool> is_test = tests_among(files, folder, options.test_share);
  std::vector<MaskedImage> training;
  for (std::size_t i = 0; i < is_test.size(); ++i)
    (is_test[i] ? found.test : training).push_back(found.training[i]);
  found.training = std::move(training);
  return found;
}

namespace {

bool takes_masks(const DataPlace& place) { return place.is_folder && has_masks(place.name); }

Data read_masks(const std::string& name, const DataOptions& options) {
  return read_segmentation_folder(name, options);
}

}  // namespace
}  // namespace narrowgauge

NG_READER(segmentation_folder, "masks", "a folder of images and one of masks", takes_masks,
          read_masks)
