// SPDX-License-Identifier: Apache-2.0
// Records of files of separated values (RFC 4180), as spreadsheets and pandas write them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/input_file.h"

namespace narrowgauge {

// The records of a file, plain or gzipped, one after another; blank lines are none. What separates
// fields is found in the first one: a comma, a tab or a semicolon.
class Records {
 public:
  // Throws DataError where the file cannot be read.
  explicit Records(const std::string& path);

  // The fields of the next record without blanks around them and without the quotes of quoted
  // ones, in which line ends and separators are text and "" is a quote. nullptr at the end. Throws
  // DataError for a line that is too long and a quote that is not closed.
  const std::vector<std::string>* next();
  std::string where() const;  // of the record, for messages: "set.csv, line 7"
  char separator() const { return separator_; }

 private:
  std::optional<std::string_view> next_line();
  bool refill();

  std::unique_ptr<InputFile> file_;
  std::string text_;  // read, and not yet given from `at_` on
  std::size_t at_ = 0;
  std::int64_t line_ = 0, first_line_ = 0;  // read so far; the first of the record
  char separator_ = '\0';
  std::string record_;
  std::vector<std::string> fields_;
};

// Throws DataError naming the line unless a record has so many fields.
void check_width(const Records& records, const std::vector<std::string>& fields, std::size_t count);

}  // namespace narrowgauge
