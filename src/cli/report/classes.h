// SPDX-License-Identifier: Apache-2.0
// What classes are called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/task/task.h"

namespace narrowgauge::cli {

class ClassNames {
 public:
  // The names in a file, one in a line, or else those that the run has. Throws DataError for a file
  // without names.
  ClassNames(const std::optional<std::string>& file, const std::optional<ImageFacts>& of_run);

  bool are_known() const { return !names_.empty(); }
  // "3 arc", or "3" where there is no name.
  std::string of(std::int64_t label) const;
  // The name alone, or the number.
  std::string brief(std::int64_t label) const;
  // The longest of the brief names of so many classes, in characters.
  std::size_t longest(std::int64_t classes) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace narrowgauge::cli
