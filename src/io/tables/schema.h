// SPDX-License-Identifier: Apache-2.0
// What the columns of a table become, found on its rows for training and kept with a run: another
// table must become the same features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/tables/dates.h"
#include "narrowgauge/tables.h"

namespace narrowgauge {

// A column of a table. A number is a feature; a text is one for each word that the training has,
// which is 1 where the row has it; a date is its days from a day in the middle of the training, and
// sine and cosine of the share of its year, and of its day where the training has times.
struct TableColumn {
  std::string name;                  // of the header, else its number from 1
  bool is_text = false;              // a text, whose words have a feature each
  std::vector<std::string> words{};  // in order of their bytes
  std::optional<DateOrder> date{};   // of a date, in which order its parts stand
  bool has_time = false;             // of a date
  double mean = 0;                   // of its numbers or days: what stands where one is missing
  bool has_missing = false;  // then one feature more is 1 where the number or date is missing

  std::size_t width() const {
    const std::size_t more = has_missing ? 1 : 0;
    return is_text ? words.size() : date ? 3 + (has_time ? 2 : 0) + more : 1 + more;
  }
  bool operator==(const TableColumn&) const = default;
};

// What the label is.
enum class TableLabel : std::uint8_t {
  numbers,  // classes 0, 1, ...
  names,    // classes that are texts
  real      // a number that is to be met
};

struct TableSchema {
  bool has_header = false;
  std::vector<TableColumn> columns{};  // without the label and those that are passed over
  std::vector<std::int64_t> places{};  // of the columns in a table without a header, from 0
  std::string label{};                 // its name, or number from 1
  std::int64_t label_place = 0;        // from 0
  TableLabel kind = TableLabel::numbers;
  std::int64_t classes = 0;          // 0 for a real label
  std::vector<std::string> names{};  // of classes that are texts, in order of their bytes

  std::int64_t width() const;  // features of a row
  std::vector<std::string> feature_names()
      const;  // "age", "age is missing", "job=cook", "day (days)"
  bool operator==(const TableSchema&) const = default;
};

// The schema as text, which holds all of it.
std::string print(const TableSchema& schema);
TableSchema parse_schema(const std::string& text);  // throws DataError

// Words that say that a value is missing: "", "NA", "?" and such.
bool is_missing(const std::string& field);

}  // namespace narrowgauge
