// SPDX-License-Identifier: Apache-2.0
// Readers of data sets. Each is a stem in this folder that the build finds by its mark; open_data()
// asks them by name and content who reads a set.
#pragma once

#include <string>
#include <string_view>

#include "base/stem_table.h"
#include "narrowgauge/images.h"

namespace narrowgauge {

// What there is where a data set is asked for.
struct DataPlace {
  std::string name;  // as given: a word, or a path
  bool is_folder = false, is_file = false;
  std::string head{};  // the first 4096 bytes of a file, unpacked if it is gzipped

  // Whether the folder holds the file or its gzipped form.
  bool holds(const std::string& file) const;
};

struct DataReader {
  std::string_view name, help;  // help: what it reads, as in "expected glyphs or a folder of ..."
  bool (*takes)(const DataPlace& place);
  Data (*read)(const std::string& name, const DataOptions& options);  // throws DataError
};

std::vector<const DataReader*> readers();
// The sets that have a name of their own and are no path: "glyphs".
std::vector<std::string> data_names();

}  // namespace narrowgauge

// NG_READER(stem, name, help, takes, read) enters a reader.
#define NG_READER(stem, ...) NG_STEM(reader_table, DataReader, stem, __VA_ARGS__)
