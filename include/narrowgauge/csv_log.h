// SPDX-License-Identifier: Apache-2.0
// Numbers over the steps of a training as a table that any program reads:
//
//   CsvLog log("runs/lenet/metrics.csv");
//   log.add(step, {{"loss", result.loss}, {"learning_rate", result.learning_rate}});
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/held.h"

namespace narrowgauge {

// A cell of a row.
struct NG_API CsvValue {
  std::string column;  // its heading
  double value = 0;    // nan and inf stand as these words
};

// A file with a line of headings and a line for each row, the first column being "step". Rows are
// written whole and at once. The first row decides where the table goes on: rows of its step and
// later ones, as they are left by a training that goes on from an earlier checkpoint, are dropped,
// and so are lines without a step, as a power failure may leave them. Belongs to one thread at a
// time.
class NG_API CsvLog {
 public:
  explicit CsvLog(std::string path);  // the file is made or read with the first row
  ~CsvLog();
  CsvLog(CsvLog&&) noexcept;             // the other throws UsageError when it is used
  CsvLog& operator=(CsvLog&&) noexcept;  // the same

  // Columns that are new stand at the end; those without a value stay empty. Throws DataError where
  // the file cannot be written, or is no such table.
  void add(std::int64_t step, const std::vector<CsvValue>& values);
  // Renames the file, in whose place the table goes on; another file of that name is replaced.
  // Throws DataError where that cannot be done.
  void move_to(const std::string& path);

 private:
  struct Implementation;
  Held<"csv log", std::unique_ptr<Implementation>> implementation_;
};

}  // namespace narrowgauge
