// SPDX-License-Identifier: Apache-2.0
// Tables in files of separated values: rows are samples, columns are numbers or texts.
#pragma once

#include <string>
#include <vector>

#include "narrowgauge/data.h"

namespace narrowgauge {

// How a table becomes samples.
struct NG_API TableOptions {
  double test_share = 0.2;          // of the rows of a single file, spread evenly; 1: all
  std::string label{};              // name or number (from 1) of its column; "": it is found
  std::vector<std::string> skip{};  // columns that are passed over, by name or number
  // What DataSplit::table says of the table that a network was trained on: this one becomes the
  // same features. "": they are found.
  std::string schema{};
};

// Reads a file, or a folder with train.csv and test.csv (or .tsv), plain or gzipped. Fields are
// separated by commas, tabs or semicolons, quoted as in RFC 4180; a first line that names columns
// is known by itself. Numbers are a feature each, with a further one where some are missing, for
// which their mean stands; texts are a feature for each word that the training has, unknown words
// none. The label is the column called label, class, target or y, else the last: texts and whole
// numbers from 0 on are classes, other numbers, and whole ones of which there are more than 20 with
// gaps between most of them, a target f32 [N,1]. Input "x" f32 [N, features]. Throws
// DataError naming line and column.
NG_API DataSplit read_table(const std::string& path, const TableOptions& options = {});

// Throws DataError for a text that is no such schema.
NG_API void check_table(const std::string& schema);

// The rows of a table as features of this schema, with or without a label: what a trained network
// is asked about. Columns are found by name where both have names.
NG_API DataSet read_rows(const std::string& path, const std::string& schema);

}  // namespace narrowgauge
