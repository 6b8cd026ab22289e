// SPDX-License-Identifier: Apache-2.0
#include "io/files/csv_table.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

// The cells of a line, still quoted where they were.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

std::string without_quotes(const std::string& heading) {
  if (!heading.starts_with('"')) return heading;
  std::string name;
  for (std::size_t i = 1; i + 1 < heading.size(); ++i) {
    name += heading[i];
    if (heading[i] == '"') ++i;
  }
  return name;
}

template <class Number>
std::optional<Number> number_in(const std::string& text, std::size_t size) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + size, number);
  const bool whole = size > 0 && error == std::errc{} && end == text.data() + size;
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string CsvTable::text() const {
  std::string out;
  for (const std::string& column : columns) out += (out.empty() ? "" : ",") + column;
  out += '\n';
  for (const std::string& row : rows) out += row + '\n';
  return out;
}

std::string csv_heading(const std::string& name) {
  std::string text = name;
  std::ranges::replace(text, '\n', ' ');
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

CsvTable read_csv_table(const std::string& path, std::int64_t step) {
  CsvTable table;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content.exceptions(std::ios::badbit);  // as where memory ends
  if (!file || file.peek() == EOF) return table;
  content << file.rdbuf();
  std::istringstream lines(std::move(content).str());
  lines.exceptions(std::ios::badbit);
  std::string line;
  for (bool first = true; std::getline(lines, line) && !lines.eof(); first = false) {
    if (first) {
      const std::string expected = table.columns[0];
      table.columns = cells_of(line);
      require<DataError>(table.columns[0] == expected, path,
                         ": expected a table whose first column is \"step\", found \"",
                         table.columns[0], '"');
      continue;
    }
    // A power failure may leave a row that is none.
    const auto at = number_in<std::int64_t>(line, std::min(line.find(','), line.size()));
    if (at && *at < step) table.rows.push_back(line);
  }
  return table;
}

std::vector<CsvColumn> columns_of(const CsvTable& table) {
  std::vector<CsvColumn> columns;
  for (const std::string& heading : table.columns) columns.push_back({without_quotes(heading), {}});
  for (const std::string& row : table.rows) {
    const std::vector<std::string> cells = cells_of(row);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool there = c < cells.size();
      columns[c].values.push_back(there ? number_in<double>(cells[c], cells[c].size())
                                        : std::nullopt);
    }
  }
  return columns;
}

}  // namespace narrowgauge
