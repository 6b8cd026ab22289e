// SPDX-License-Identifier: Apache-2.0
#include "cli/picture_answers.h"

#include <filesystem>

#include "narrowgauge/error.h"

namespace narrowgauge::cli {

std::string PictureNames::for_file(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  std::string name = stem + ".png";
  for (int i = 2; !taken_.insert(name).second; ++i) name = concat(stem, '-', i, ".png");
  return (std::filesystem::path(folder_) / name).string();
}

}  // namespace narrowgauge::cli
