// SPDX-License-Identifier: Apache-2.0
// The records of a table of stems in the help of a flag.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace narrowgauge::cli {

// "constant: stays as it is; cosine (default): falls ..."
template <class Record>
std::string described(const std::vector<const Record*>& table, std::string_view usual = {}) {
  std::string text;
  for (const Record* record : table) {
    if (!text.empty()) text += "; ";
    text += record->name;
    text += record->name == usual ? " (default): " : ": ";
    text += record->help;
  }
  return text;
}

}  // namespace narrowgauge::cli
