// SPDX-License-Identifier: Apache-2.0
#include "io/files/csv_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/files.h"
#include "narrowgauge/csv_log.h"
#include "narrowgauge/error.h"

namespace narrowgauge::csv_table_test {
namespace {

using testing_files::TemporaryFolder;
using testing_files::write_file;

TEST(csv_table, gives_back_what_a_log_was_told) {
  const TemporaryFolder folder;
  CsvLog log(folder / "m.csv");
  log.add(1, {{"loss", 0.1}, {"a,\"b\"", 5}});
  log.add(2, {{"loss", NAN}, {"late", -INFINITY}});
  const std::vector<CsvColumn> columns = columns_of(read_csv_table(folder / "m.csv"));
  ASSERT_EQ(columns.size(), 4U);
  EXPECT_EQ(columns[0].values, (std::vector<std::optional<double>>{1, 2}));
  EXPECT_EQ(columns[1].name, "loss");
  EXPECT_EQ(columns[1].values[0], 0.1);
  EXPECT_TRUE(std::isnan(columns[1].values[1].value()));
  EXPECT_EQ(columns[2].name, "a,\"b\"");
  EXPECT_EQ(columns[2].values, (std::vector<std::optional<double>>{5, std::nullopt}));
  EXPECT_EQ(columns[3].values, (std::vector<std::optional<double>>{std::nullopt, -INFINITY}));
}

TEST(csv_table, leaves_out_what_is_no_row_and_what_is_no_number) {
  const TemporaryFolder folder;
  write_file(folder / "m.csv", "step,loss\n1,2\nx,3\n\n4,word,7\n5\n6,1.5e");
  const std::vector<CsvColumn> columns = columns_of(read_csv_table(folder / "m.csv"));
  EXPECT_EQ(columns[0].values, (std::vector<std::optional<double>>{1, 4, 5}));
  EXPECT_EQ(columns[1].values, (std::vector<std::optional<double>>{2, std::nullopt, std::nullopt}));
}

TEST(csv_table, of_no_file_is_empty_and_another_table_is_refused) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_csv_table(folder / "none.csv").rows.empty());
  write_file(folder / "m.csv", "name,loss\n1,2\n");
  EXPECT_THROW(read_csv_table(folder / "m.csv"), DataError);
}

}  // namespace
}  // namespace narrowgauge::csv_table_test
