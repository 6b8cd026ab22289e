// SPDX-License-Identifier: Apache-2.0
// The curves of a training, from the table of its numbers (metrics.csv).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report/chart.h"
#include "io/files/csv_table.h"

namespace narrowgauge::cli {

// The numbers of a training over its steps, without what has no step.
class Curves {
 public:
  // Rows in the order of their steps.
  explicit Curves(const CsvTable& table);

  bool is_empty() const { return columns_.empty() || columns_.front().values.empty(); }
  // The values of a column with their steps; empty where there is no such column.
  std::vector<Point> of(const std::string& column) const;
  // Names of the columns but the step, in the order of the table.
  std::vector<std::string> names() const;
  // The last value that is there, with its step.
  std::optional<Point> last(const std::string& column) const;
  // The best value of a metric of the test ("test_loss"), with its step; of equal ones the first.
  // Nothing where it is not known which values are better.
  std::optional<Point> best(const std::string& column) const;

 private:
  std::vector<CsvColumn> columns_;
};

// The name of the metric in a column of the test: "f1" of "test_f1"; "" of other columns.
std::string metric_of_column(const std::string& column);
// Whether a metric that evaluations know by this name is a share from 0 to 1; nothing where there
// is no such metric.
std::optional<bool> metric_is_share(const std::string& metric);

// Losses, learning rate, loss scale, and every other column.
std::string curves_html(const Curves& curves);

}  // namespace narrowgauge::cli
