// SPDX-License-Identifier: Apache-2.0
// Pictures that a network makes, and where they go.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace narrowgauge::cli {

// Names of PNG files in a folder, which is made: the name of the file that each is made for, with a
// number where two have the same.
class PictureNames {
 public:
  explicit PictureNames(std::string folder);
  std::string for_file(const std::string& path);

 private:
  std::string folder_;
  std::set<std::string> taken_;
};

// Says how many of so many pictures could not be read, where there are some.
void tell_left_out(std::int64_t all, std::int64_t answered);

// How predictions that are pictures are reported.
struct PictureOptions {
  std::optional<std::string> save{};  // folder for pictures as PNG, or a table (.csv)
  bool strict = false;                // whether a damaged picture is an error
  bool json = false, quiet = false;

  bool is_table() const { return save && save->ends_with(".csv"); }
  // Nothing where no pictures are saved. Throws UsageError for a file of arrays.
  std::optional<PictureNames> names() const;
};

}  // namespace narrowgauge::cli
