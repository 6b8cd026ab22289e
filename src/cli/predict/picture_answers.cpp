// SPDX-License-Identifier: Apache-2.0
#include "cli/predict/picture_answers.h"

#include <filesystem>

#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {

PictureNames::PictureNames(std::string folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  require<DataError>(!error, folder_, ": ", error.message());
}

std::string PictureNames::for_file(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  std::string name = stem + ".png";
  for (int i = 2; !taken_.insert(name).second; ++i) name = concat(stem, '-', i, ".png");
  return (std::filesystem::path(folder_) / name).string();
}

void tell_left_out(std::int64_t all, std::int64_t answered) {
  if (answered < all)
    say("left out",
        concat(grouped(all - answered), " of ", grouped(all), " pictures that cannot be read"));
}

std::optional<PictureNames> PictureOptions::names() const {
  if (!save || is_table()) return std::nullopt;
  require(!save->ends_with(".npz"),
          "--save: expected a folder for pictures, or a table (.csv), got ", *save);
  return PictureNames(*save);
}

}  // namespace narrowgauge::cli
