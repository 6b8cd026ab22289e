// SPDX-License-Identifier: Apache-2.0
// Tables in files of separated values as data sets.
#include <algorithm>

#include "io/readers/reader.h"

namespace narrowgauge {
namespace {

bool takes_csv(const DataPlace& place) {
  constexpr std::string_view separators = ",;\t";
  if (place.is_folder)
    return (place.holds("train.csv") || place.holds("train.tsv")) &&
           (place.holds("test.csv") || place.holds("test.tsv"));
  if (!place.is_file) return false;
  for (const char* const end : {".csv", ".tsv", ".csv.gz", ".tsv.gz"})
    if (place.name.ends_with(end)) return true;
  if (place.name.ends_with(".txt")) return false;
  const std::string_view line = std::string_view(place.head).substr(0, place.head.find('\n'));
  return line.find_first_of(separators) != std::string_view::npos &&
         std::ranges::all_of(line,
                             [](unsigned char c) { return c >= ' ' || c == '\t' || c == '\r'; });
}

Data read_csv(const std::string& name, const DataOptions& options) {
  return read_table(name, {.test_share = options.test_share,
                           .label = options.label,
                           .skip = options.skip,
                           .schema = options.table});
}

}  // namespace
}  // namespace narrowgauge

NG_READER(csv, "csv", "a CSV or TSV file (or a folder with train.csv and test.csv)", takes_csv,
          read_csv)
