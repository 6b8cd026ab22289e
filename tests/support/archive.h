// SPDX-License-Identifier: Apache-2.0
// Outside material that tests read where it lies: NARROWGAUGE_DATA, else ../shared/data.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "narrowgauge/error.h"

namespace narrowgauge::testing_support {

inline std::filesystem::path data_folder() {
  if (const char* data = std::getenv("NARROWGAUGE_DATA")) return data;
  const char* root = std::getenv("NARROWGAUGE_SOURCE");
  return std::filesystem::path(root ? root : ".") / ".." / "shared" / "data";
}

// The contents of a .tar.xz, in a folder that is gone with the object.
class UnpackedArchive {
 public:
  explicit UnpackedArchive(const std::filesystem::path& archive) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "narrowgauge-data-XXXXXX").string();
    require<DataError>(mkdtemp(pattern.data()) != nullptr, "cannot make a folder ", pattern);
    folder_ = pattern;
    const std::string command = "tar -C '" + folder_.string() + "' -xJf '" + archive.string() + "'";
    require<DataError>(std::system(command.c_str()) == 0, "cannot unpack ", archive.string());
  }
  ~UnpackedArchive() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  UnpackedArchive(const UnpackedArchive&) = delete;
  UnpackedArchive& operator=(const UnpackedArchive&) = delete;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace narrowgauge::testing_support
