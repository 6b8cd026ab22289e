// SPDX-License-Identifier: Apache-2.0
// Finds out what the columns of a table are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/tables/schema.h"

namespace narrowgauge {

// The number that a field is, if f32 holds it.
std::optional<float> table_number(const std::string& field);
std::optional<std::int64_t> table_class(const std::string& field);  // from 0 on

// The names of a table's columns: those of its header, or their numbers from 1. No two are the
// same: the second column called x is x.1.
struct TableHead {
  bool has_header = false;
  std::vector<std::string> names;
  std::vector<std::string> repeated;  // names that more than one column had
};
// Warns of repeated names.
void tell_repeated(const TableHead& head, const std::string& path);
// "day, month and year", for messages.
const char* parts_of_date(DateOrder order);

// Throws DataError for a file without rows, or of fewer columns.
TableHead read_head(const std::string& path, std::size_t least_columns = 2);

// Reads all rows; `is_training` says which of them, from 0 on, the features are found on. Returns
// how many rows there are in `rows`. Throws DataError naming line and column, UsageError for a
// label or a column to skip that there is not.
TableSchema survey_table(const std::string& path, const TableOptions& options,
                         const std::function<bool(std::int64_t row)>& is_training,
                         std::int64_t& rows);

}  // namespace narrowgauge
