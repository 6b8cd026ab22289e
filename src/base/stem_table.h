// SPDX-License-Identifier: Apache-2.0
// Tables that nobody lists: a stem enters its record by a mark at the end of its file, and the
// build collects the files that have the mark (ng_table in cmake/Layers.cmake). Records have a
// name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/unloading.h"

namespace narrowgauge {

// nullptr: there is none of this name.
template <class Record>
const Record* find_record(const std::vector<const Record*>& table, std::string_view name) {
  for (const Record* record : table)
    if (record->name == name) return record;
  return nullptr;
}

template <class Record>
std::vector<std::string> names_of(const std::vector<const Record*>& table) {
  std::vector<std::string> names;
  for (const Record* record : table) names.emplace_back(record->name);
  return names;
}

// "a, b, c": the names, for messages.
template <class Record>
std::string listed_names(const std::vector<const Record*>& table) {
  std::string text;
  for (const Record* record : table) {
    if (!text.empty()) text += ", ";
    text += record->name;
  }
  return text;
}

}  // namespace narrowgauge

// What a mark NG_X(stem, ...) stands for: the record of the braces, in one of the tables. It
// stands once per file, at the start of a line.
#define NG_STEM(table, Record, stem, ...)                                        \
  namespace narrowgauge::table##_parts {                                         \
    std::vector<const Record*> stem();                                           \
    std::vector<const Record*> stem() {                                          \
      static const Record& record = immortal<const Record>(Record{__VA_ARGS__}); \
      return {&record};                                                          \
    }                                                                            \
  }
