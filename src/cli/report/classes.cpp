// SPDX-License-Identifier: Apache-2.0
#include "cli/report/classes.h"

#include <algorithm>
#include <sstream>

#include "base/files/open_file.h"
#include "cli/common/text.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {

ClassNames::ClassNames(const std::optional<std::string>& file,
                       const std::optional<ImageFacts>& of_run) {
  if (!file) {
    if (of_run) names_ = of_run->class_names;
    return;
  }
  std::istringstream lines(read_text_file(*file));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    names_.push_back(line);
  }
  require<DataError>(!names_.empty(), *file, ": expected a name in each line, found none");
}

std::string ClassNames::brief(std::int64_t label) const {
  const auto place = static_cast<std::size_t>(label);
  const bool known = label >= 0 && place < names_.size() && !names_[place].empty();
  return known ? names_[place] : std::to_string(label);
}

std::string ClassNames::of(std::int64_t label) const {
  const std::string number = std::to_string(label), name = brief(label);
  return name == number ? number : number + ' ' + name;
}

std::size_t ClassNames::longest(std::int64_t classes) const {
  std::size_t most = 1;
  for (std::int64_t c = 0; c < classes; ++c) most = std::max(most, width_of(brief(c)));
  return most;
}

}  // namespace narrowgauge::cli
