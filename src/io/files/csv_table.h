// SPDX-License-Identifier: Apache-2.0
// A table over the steps of a training as CsvLog writes it, read again.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace narrowgauge {

struct CsvTable {
  std::vector<std::string> columns{"step"};  // headings, still quoted where they were
  std::vector<std::string> rows;             // lines without their line feeds

  std::string text() const;
};

// A heading by RFC 4180, without line feeds.
std::string csv_heading(const std::string& name);

// The rows of steps before `step`: none where there is no file. A last line without its line feed
// was cut and is left out, and so are lines without a step. Throws DataError for a file whose first
// column is no step.
CsvTable read_csv_table(const std::string& path,
                        std::int64_t step = std::numeric_limits<std::int64_t>::max());

// A column as numbers: nothing where a row has no number in it.
struct CsvColumn {
  std::string name;  // its heading without quotes
  std::vector<std::optional<double>> values;
};
std::vector<CsvColumn> columns_of(const CsvTable& table);

}  // namespace narrowgauge
