// SPDX-License-Identifier: Apache-2.0
// Tables, found out and read, and the rows of others as features of a schema: the first line of the
// input is the schema, unless it is empty.
#include "fuzz/fuzz.h"
#include "io/tables/schema.h"
#include "narrowgauge/tables.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  std::string schema(bytes.substr(0, end));
  const std::string path = fuzz::write("rows.csv", bytes.substr(std::min(end + 1, bytes.size())));
  fuzz::take([&] {
    const DataSplit split = read_table(path, {.test_share = 0.5});
    fuzz::must(print(parse_schema(split.table)) == split.table);
    const DataSet again = read_rows(path, split.table);
    fuzz::must(again.size() == split.train.size() + split.test.size());
    fuzz::must(std::ssize(split.train.feature_names) == again.input().dims()[1]);
    if (schema.empty()) schema = split.table;
  });
  fuzz::take([&] { read_rows(path, schema); });
  return 0;
}
