// SPDX-License-Identifier: Apache-2.0
#include "io/readers/picture_files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/files/folder_content.h"
#include "base/random.h"
#include "base/text/ascii.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace fs = std::filesystem;

bool is_image_name(const fs::path& path) {
  constexpr std::array<std::string_view, 15> known{".jpg",  ".jpeg", ".png", ".webp", ".bmp",
                                                   ".ppm",  ".pgm",  ".pbm", ".pnm",  ".wav",
                                                   ".wave", ".flac", ".ogg", ".opus", ".mp3"};
  return std::ranges::find(known, lower(path.extension().string())) != known.end();
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const std::string& name : names_in(folder.string(), error))
    if (!name.starts_with('.')) paths.push_back(folder / name);
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

bool each_file(const fs::path& folder, const std::function<bool(const fs::path&)>& take) {
  std::error_code ignored;
  for (const fs::path& path : entries_of(folder)) {
    const bool is_folder = fs::is_directory(path, ignored);
    if (is_folder && fs::is_symlink(path, ignored)) continue;
    if (!(is_folder ? each_file(path, take) : take(path))) return false;
  }
  return true;
}

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

FolderParts parts_in(const fs::path& folder) {
  FolderParts parts;
  std::error_code ignored;
  const auto is_part = [&](std::string_view name) {
    return fs::is_directory(folder / name, ignored);
  };
  if (is_part("train")) parts.training = folder / "train";
  // What a training is judged by is for validation where there is both.
  for (const std::string_view name : {"test", "validation", "valid", "val"})
    if (is_part(name)) parts.test = folder / name;
  return parts;
}

fs::path masks_in(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder / "images", ignored)) return {};
  for (const char* const name : {"masks", "labels", "annotations", "instances"})
    if (fs::is_directory(folder / name, ignored)) return folder / name;
  return {};
}

bool has_masks(const fs::path& folder) {
  const FolderParts parts = parts_in(folder);
  return !masks_in(parts ? parts.training : folder).empty();
}

}  // namespace narrowgauge
