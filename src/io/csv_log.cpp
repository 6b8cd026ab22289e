// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/csv_log.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/append_file.h"
#include "base/atomic_file.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr const char* first_column = "step";

// A heading by RFC 4180, without line feeds.
std::string heading_text(const std::string& name) {
  std::string text = name;
  std::ranges::replace(text, '\n', ' ');
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

// The headings of a line, still quoted where they were.
std::vector<std::string> headings_of(const std::string& line) {
  std::vector<std::string> headings(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted)
      headings.emplace_back();
    else
      headings.back() += c;
  }
  return headings;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::optional<std::int64_t> step_of(const std::string& row) {
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), step);
  const bool whole = error == std::errc{} && (end == row.data() + row.size() || *end == ',');
  return whole ? std::optional(step) : std::nullopt;
}

struct Table {
  std::vector<std::string> columns{first_column};
  std::vector<std::string> rows;

  std::string text() const {
    std::string out;
    for (const std::string& column : columns) out += (out.empty() ? "" : ",") + column;
    out += '\n';
    for (const std::string& row : rows) out += row + '\n';
    return out;
  }
};

// The rows of steps before `step`. A last line without its line feed was cut and is left out.
Table read_before(const std::string& path, std::int64_t step) {
  Table table;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || file.peek() == EOF) return table;
  content << file.rdbuf();
  std::istringstream lines(std::move(content).str());
  std::string line;
  for (bool first = true; std::getline(lines, line) && !lines.eof(); first = false) {
    if (first) {
      table.columns = headings_of(line);
      require<DataError>(table.columns[0] == first_column, path,
                         ": expected a table whose first column is \"step\", found \"",
                         table.columns[0], '"');
      continue;
    }
    // A power failure may leave a row that is none.
    const std::optional<std::int64_t> at = step_of(line);
    if (at && *at < step) table.rows.push_back(line);
  }
  return table;
}

// New columns mean a cell more in each row.
void widen(Table& table, const std::vector<std::string>& columns) {
  for (std::string& row : table.rows) row.append(columns.size() - table.columns.size(), ',');
  table.columns = columns;
}

}  // namespace

struct CsvLog::Implementation {
  std::string path;
  std::vector<std::string> columns;
  std::optional<AppendFile> file;

  // Replaces the file by its rows before `step`, with all columns that are wanted now.
  void begin(std::int64_t step, const std::vector<CsvValue>& values) {
    file.reset();
    Table table = read_before(path, step);
    columns = table.columns;
    for (const CsvValue& each : values) {
      const std::string heading = heading_text(each.column);
      if (std::ranges::find(columns, heading) == columns.end()) columns.push_back(heading);
    }
    widen(table, columns);
    write_file_atomically(path, table.text());
    file.emplace(path);
  }

  bool has_all(const std::vector<CsvValue>& values) const {
    return std::ranges::all_of(values, [&](const CsvValue& each) {
      return std::ranges::find(columns, heading_text(each.column)) != columns.end();
    });
  }
};

CsvLog::CsvLog(std::string path) : implementation_(new Implementation{std::move(path), {}, {}}) {}
CsvLog::~CsvLog() = default;
CsvLog::CsvLog(CsvLog&&) noexcept = default;

void CsvLog::add(std::int64_t step, const std::vector<CsvValue>& values) {
  Implementation& self = *implementation_;
  if (!self.file || !self.has_all(values)) self.begin(step, values);
  std::vector<std::string> cells(self.columns.size());
  cells[0] = std::to_string(step);
  for (const CsvValue& each : values) {
    const auto column = std::ranges::find(self.columns, heading_text(each.column));
    cells[static_cast<std::size_t>(column - self.columns.begin())] = number_text(each.value);
  }
  std::string row = cells[0];
  for (std::size_t c = 1; c < cells.size(); ++c) row += ',' + cells[c];
  self.file->append(row + '\n');
}

}  // namespace narrowgauge
