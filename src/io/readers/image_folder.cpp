// SPDX-License-Identifier: Apache-2.0
// Folders of pictures, one for each class.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/printable.h"
#include "base/random.h"
#include "io/readers/reader.h"
#include "narrowgauge/images.h"

namespace narrowgauge {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> validation_names{"val", "valid", "validation"};
constexpr int most_looked_at =
    10000;  // files in which a reader that is not sure looks for pictures

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_image_name(const fs::path& path) {
  constexpr std::array<std::string_view, 9> known{".jpg", ".jpeg", ".png", ".webp", ".bmp",
                                                  ".ppm", ".pgm",  ".pbm", ".pnm"};
  std::string end = path.extension().string();
  std::ranges::transform(end, end.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(known, end) != known.end();
}

// What lies in a folder, in order of names. Throws DataError.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::directory_iterator iterator(folder, error);
  for (; !error && iterator != fs::directory_iterator(); iterator.increment(error))
    if (!is_hidden(iterator->path())) paths.push_back(iterator->path());
  require<DataError>(!error, folder.string(), ": ", error.message());
  std::ranges::sort(paths);
  return paths;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> paths = entries_of(folder);
  std::error_code ignored;
  std::erase_if(paths, [&](const fs::path& path) { return !fs::is_directory(path, ignored); });
  return paths;
}

// Calls `take` for each file below a folder, in order, until it says false. Links to folders are
// not followed: they may lead back.
bool each_file(const fs::path& folder, const std::function<bool(const fs::path&)>& take) {
  std::error_code ignored;
  for (const fs::path& path : entries_of(folder)) {
    const bool is_folder = fs::is_directory(path, ignored);
    if (is_folder && fs::is_symlink(path, ignored)) continue;
    if (!(is_folder ? each_file(path, take) : take(path))) return false;
  }
  return true;
}

bool holds_picture(const fs::path& folder) {
  bool found = false;
  int looked_at = 0;
  each_file(folder, [&](const fs::path& path) {
    found = is_image_name(path);
    return !found && ++looked_at < most_looked_at;
  });
  return found;
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
    each_file(path, [&](const fs::path& file) {
      if (is_image_name(file))
        found.files.push_back(file);
      else
        others.push_back(file.string());
      return true;
    });
    require<DataError>(!found.files.empty(), path.string(), ": expected pictures of class '",
                       found.name, "', found none");
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
  require<DataError>(names.size() >= 2, folder.string(),
                     ": expected a folder of pictures for each of two or more classes, found ",
                     names.empty() ? "none" : concat("only '", names[0], '\''));
}

// Which of a class's pictures are for the test: the first by a hash of their paths, so that a
// picture that is added moves few others.
std::vector<bool> tests_among(const std::vector<fs::path>& files, const fs::path& root,
                              double share) {
  const std::size_t count = files.size();
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::size_t i = 0; i < count; ++i)
    order.emplace_back(stable_hash(files[i].lexically_relative(root).generic_string()), i);
  std::ranges::sort(order);
  auto tests = static_cast<std::size_t>(std::lround(share * static_cast<double>(count)));
  const bool divided = share > 0 && share < 1 && count >= 2;
  if (divided) tests = std::clamp<std::size_t>(tests, 1, count - 1);
  std::vector<bool> is_test(count);
  for (std::size_t i = 0; i < tests; ++i) is_test[order[i].second] = true;
  return is_test;
}

ImageFolder divided(const std::string& folder, double share) {
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

// The part for training and that for the test, where there are folders of these names.
struct Parts {
  fs::path training, test;
  explicit operator bool() const { return !training.empty() && !test.empty(); }
};

Parts parts_in(const fs::path& folder) {
  Parts parts;
  std::error_code ignored;
  const auto is_part = [&](std::string_view name) {
    return fs::is_directory(folder / name, ignored);
  };
  if (is_part("train")) parts.training = folder / "train";
  if (is_part("test")) parts.test = folder / "test";
  for (const std::string_view name : validation_names)
    if (is_part(name)) parts.test = folder / name;
  return parts;
}

ImageFolder in_parts(const std::string& folder, const Parts& parts) {
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
                     ": expected a folder of pictures for each class, found none");
  return found;
}

}  // namespace

ImageFolder read_image_folder(const std::string& folder, const DataOptions& options) {
  require(options.test_share >= 0 && options.test_share <= 1,
          "data: expected a share for the test from 0 to 1, got ", options.test_share);
  std::error_code ignored;
  require<DataError>(fs::is_directory(folder, ignored), folder, ": there is no such folder");
  const Parts parts = parts_in(folder);
  return parts ? in_parts(folder, parts) : divided(folder, options.test_share);
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
  require<DataError>(!files.empty(), path, ": expected pictures in this folder, found none");
  return files;
}

namespace {

bool takes(const DataPlace& place) {
  return place.is_folder && std::ranges::any_of(folders_in(place.name), holds_picture);
}

Data read(const std::string& name, const DataOptions& options) {
  return read_image_folder(name, options);
}

}  // namespace
}  // namespace narrowgauge

NG_READER(image_folder, "pictures", "a folder of pictures for each class", takes, read)
