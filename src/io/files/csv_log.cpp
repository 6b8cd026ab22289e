// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/csv_log.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/files/append_file.h"
#include "base/files/atomic_file.h"
#include "base/text/number_text.h"
#include "io/files/csv_table.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return general_text(value, 9);
}

// New columns mean a cell more in each row.
void widen(CsvTable& table, const std::vector<std::string>& columns) {
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
    CsvTable table = read_csv_table(path, step);
    columns = table.columns;
    for (const CsvValue& each : values) {
      const std::string heading = csv_heading(each.column);
      if (std::ranges::find(columns, heading) == columns.end()) columns.push_back(heading);
    }
    widen(table, columns);
    write_file_atomically(path, table.text());
    file.emplace(path);
  }

  bool has_all(const std::vector<CsvValue>& values) const {
    return std::ranges::all_of(values, [&](const CsvValue& each) {
      return std::ranges::find(columns, csv_heading(each.column)) != columns.end();
    });
  }
};

CsvLog::CsvLog(std::string path)
    : implementation_(
          std::unique_ptr<Implementation>(new Implementation{std::move(path), {}, {}})) {}
CsvLog::~CsvLog() = default;
CsvLog::CsvLog(CsvLog&&) noexcept = default;
CsvLog& CsvLog::operator=(CsvLog&&) noexcept = default;

void CsvLog::move_to(const std::string& path) {
  Implementation& self = *implementation_;
  if (self.file) {
    self.file.reset();
    std::error_code error;
    std::filesystem::rename(self.path, path, error);
    require<DataError>(!error, path, ": cannot be made of ", self.path, " (", error.message(), ')');
    self.file.emplace(path);
  }
  self.path = path;
}

void CsvLog::add(std::int64_t step, const std::vector<CsvValue>& values) {
  Implementation& self = *implementation_;
  if (!self.file || !self.has_all(values)) self.begin(step, values);
  std::vector<std::string> cells(self.columns.size());
  cells[0] = std::to_string(step);
  for (const CsvValue& each : values) {
    const auto column = std::ranges::find(self.columns, csv_heading(each.column));
    cells[static_cast<std::size_t>(column - self.columns.begin())] = number_text(each.value);
  }
  std::string row = cells[0];
  for (std::size_t c = 1; c < cells.size(); ++c) row += ',' + cells[c];
  self.file->append(row + '\n');
}

}  // namespace narrowgauge
