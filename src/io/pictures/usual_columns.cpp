// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "io/files/shared_bytes.h"
#include "io/pictures/formats.h"
#include "io/sounds/decode_sound.h"
#include "narrowgauge/error.h"
#include "narrowgauge/images.h"

namespace narrowgauge {

namespace {

constexpr std::size_t most_looked_at = 64;
constexpr std::int64_t most_columns = 1000;  // ten seconds

// 0 for a picture, and for what cannot be read.
std::int64_t columns_of(const std::string& path) {
  try {
    const SharedBytes bytes = map_file(path);
    return is_sound(bytes.view()) ? sound_columns(bytes.view()) : 0;
  } catch (const DataError&) {
    return 0;
  }
}

}  // namespace

std::int64_t usual_sound_columns(const std::vector<ImageFile>& files) {
  const std::size_t step = std::max<std::size_t>(files.size() / most_looked_at, 1);
  std::vector<std::int64_t> columns;
  for (std::size_t i = 0; i < files.size(); i += step) columns.push_back(columns_of(files[i].path));
  if (columns.empty()) return 0;
  std::ranges::sort(columns);
  return std::min(columns[columns.size() / 2], most_columns);
}

}  // namespace narrowgauge
