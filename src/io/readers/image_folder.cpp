// SPDX-License-Identifier: Apache-2.0
// Folders of pictures, one for each class.
#include <algorithm>
#include <filesystem>

#include "base/machine/floating_environment.h"
#include "base/text/printable.h"
#include "io/readers/picture_files.h"
#include "io/readers/reader.h"
#include "io/readers/test_share.h"
#include "narrowgauge/images.h"

namespace narrowgauge {
namespace {

namespace fs = std::filesystem;

constexpr int most_files_looked_at =
    10000;  // files in which a reader that is not sure looks for pictures

bool holds_picture(const fs::path& folder) {
  bool found = false;
  int looked_at = 0;
  each_file(folder, [&](const fs::path& path) {
    found = is_image_name(path);
    return !found && ++looked_at < most_files_looked_at;
  });
  return found;
}

std::vector<fs::path> pictures_below(const fs::path& folder, std::vector<std::string>& others) {
  std::vector<fs::path> files;
  each_file(folder, [&](const fs::path& file) {
    if (is_image_name(file))
      files.push_back(file);
    else
      others.push_back(file.string());
    return true;
  });
  return files;
}

// A class and the paths of its pictures.
struct ClassFiles {
  std::string name;
  std::vector<fs::path> files;
};

std::vector<ClassFiles> classes_in(const fs::path& folder, std::vector<std::string>& others) {
  std::vector<ClassFiles> classes;
  for (const fs::path& path : folders_in(folder)) {
    ClassFiles found{path.filename().string(), {}};
    require<DataError>(printable(found.name) == found.name, path.string(),
                       ": the name of a class must be UTF-8 without control characters");
    found.files = pictures_below(path, others);
    require<DataError>(!found.files.empty(), path.string(),
                       ": expected pictures or sounds of class '", found.name, "', found none");
    classes.push_back(std::move(found));
  }
  return classes;
}

std::vector<std::string> names_of(const std::vector<ClassFiles>& classes) {
  std::vector<std::string> names;
  for (const ClassFiles& each : classes) names.push_back(each.name);
  return names;
}

void require_classes(const std::vector<std::string>& names, const fs::path& folder) {
  require<DataError>(
      names.size() >= 2, folder.string(),
      ": expected a folder of pictures or sounds for each of two or more classes, found ",
      names.empty() ? "none" : concat("only '", names[0], '\''));
}

ImageFolder divided_folder(const std::string& folder, double share) {
  ImageFolder found{.path = folder};
  const std::vector<ClassFiles> classes = classes_in(folder, found.other_files);
  found.classes = names_of(classes);
  require_classes(found.classes, folder);
  for (std::size_t label = 0; label < classes.size(); ++label) {
    const std::vector<fs::path>& files = classes[label].files;
    const std::vector<bool> is_test = tests_among(files, folder, share);
    for (std::size_t i = 0; i < files.size(); ++i)
      (is_test[i] ? found.test : found.training)
          .push_back({files[i].string(), static_cast<std::int64_t>(label)});
  }
  return found;
}

ImageFolder in_parts(const std::string& folder, const FolderParts& parts) {
  ImageFolder found{.path = folder};
  const std::vector<ClassFiles> training = classes_in(parts.training, found.other_files);
  found.classes = names_of(training);
  require_classes(found.classes, parts.training);
  const auto add = [&](const ClassFiles& from, std::vector<ImageFile>& to) {
    const auto place = std::ranges::find(found.classes, from.name);
    require<DataError>(place != found.classes.end(), parts.test.string(), ": has a class '",
                       from.name, "', which ", parts.training.string(), " has not");
    for (const fs::path& file : from.files)
      to.push_back({file.string(), place - found.classes.begin()});
  };
  for (const ClassFiles& each : training) add(each, found.training);
  for (const ClassFiles& each : classes_in(parts.test, found.other_files)) add(each, found.test);
  require<DataError>(!found.test.empty(), parts.test.string(),
                     ": expected a folder of pictures or sounds for each class, found none");
  return found;
}

ImageFolder unlabelled(const std::string& folder, const FolderParts& parts, double share) {
  ImageFolder found{.path = folder};
  std::vector<fs::path> files =
      pictures_below(parts ? parts.training : fs::path(folder), found.other_files);
  std::vector<bool> is_test = tests_among(files, folder, parts ? 0 : share);
  if (parts)
    for (fs::path& file : pictures_below(parts.test, found.other_files)) {
      files.push_back(std::move(file));
      is_test.push_back(true);
    }
  for (std::size_t i = 0; i < files.size(); ++i)
    (is_test[i] ? found.test : found.training).push_back({files[i].string(), 0});
  require<DataError>(!found.training.empty() && (!found.test.empty() || share == 0), folder,
                     ": expected two or more pictures or sounds, found ", files.size());
  return found;
}

}  // namespace

ImageFolder read_image_folder(const std::string& folder, const DataOptions& options) {
  const FloatingEnvironment environment(Subnormals::keep);
  check_test_share(options.test_share, "data");
  std::error_code ignored;
  require<DataError>(fs::is_directory(folder, ignored), folder, ": there is no such folder");
  const FolderParts parts = parts_in(folder);
  if (!options.labels) return unlabelled(folder, parts, options.test_share);
  return parts ? in_parts(folder, parts) : divided_folder(folder, options.test_share);
}

std::vector<std::string> find_images(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    require<DataError>(fs::exists(path, ignored), path, ": there is no such file or folder");
    return {path};
  }
  std::vector<std::string> files;
  each_file(path, [&](const fs::path& file) {
    if (is_image_name(file)) files.push_back(file.string());
    return true;
  });
  require<DataError>(!files.empty(), path,
                     ": expected pictures or sounds in this folder, found none");
  return files;
}

namespace {

bool takes_pictures(const DataPlace& place) {
  return place.is_folder && !has_masks(place.name) && holds_picture(place.name);
}

Data read_pictures(const std::string& name, const DataOptions& options) {
  return read_image_folder(name, options);
}

}  // namespace
}  // namespace narrowgauge

NG_READER(image_folder, "pictures", "a folder of pictures or sounds for each class", takes_pictures,
          read_pictures)
