// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/csv_log.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/files.h"
#include "narrowgauge/error.h"

namespace narrowgauge::csv_log_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;

TEST(csv_log, rows_are_there_as_soon_as_they_are_added) {
  const TemporaryFolder folder;
  CsvLog log(folder / "m.csv");
  log.add(1, {{"loss", 0.5}, {"rate", 1e-3}});
  EXPECT_EQ(read_file(folder / "m.csv"), "step,loss,rate\n1,0.5,0.001\n");
  log.add(2, {{"loss", NAN}, {"rate", -INFINITY}});
  EXPECT_EQ(read_file(folder / "m.csv"), "step,loss,rate\n1,0.5,0.001\n2,nan,-inf\n");
}

TEST(csv_log, new_columns_stand_at_the_end_and_missing_values_are_empty) {
  const TemporaryFolder folder;
  CsvLog log(folder / "m.csv");
  log.add(1, {{"loss", 3}});
  log.add(2, {{"test", 4}, {"a,\"b\"", 5}});
  log.add(3, {{"loss", 6}});
  EXPECT_EQ(read_file(folder / "m.csv"), "step,loss,test,\"a,\"\"b\"\"\"\n1,3,,\n2,,4,5\n3,6,,\n");
}

TEST(csv_log, a_training_that_goes_on_from_an_earlier_step_leaves_no_row_twice) {
  const TemporaryFolder folder;
  {
    CsvLog log(folder / "m.csv");
    for (int step = 10; step <= 40; step += 10)
      log.add(step, {{"loss", static_cast<double>(step)}, {"old", 1}});
  }
  {
    CsvLog log(folder / "m.csv");  // as if killed within a row
    write_file(folder / "m.csv", read_file(folder / "m.csv") + "50,5");
    log.add(30, {{"loss", 0.5}, {"new", 2}});
  }
  EXPECT_EQ(read_file(folder / "m.csv"), "step,loss,old,new\n10,10,1,\n20,20,1,\n30,0.5,,2\n");
  CsvLog log(folder / "m.csv");
  log.add(1, {{"loss", 9}});
  EXPECT_EQ(read_file(folder / "m.csv"), "step,loss,old,new\n1,9,,\n");
}

TEST(csv_log, other_files_are_refused_and_stay) {
  const TemporaryFolder folder;
  const std::string content = "name,age\nann,3\n";
  write_file(folder / "other.csv", content);
  CsvLog log(folder / "other.csv");
  EXPECT_THROW(log.add(1, {{"loss", 1}}), DataError);
  EXPECT_EQ(read_file(folder / "other.csv"), content);
  EXPECT_THROW(CsvLog(folder / "none/m.csv").add(1, {}), DataError);
}

TEST(csv_log, lines_that_a_power_failure_spoiled_are_left_out) {
  const TemporaryFolder folder;
  const std::string spoiled = std::string("step,loss\n1,3\n") + std::string(5, '\0') + "\n2,4\n";
  write_file(folder / "m.csv", spoiled);
  CsvLog(folder / "m.csv").add(3, {{"loss", 5}});
  EXPECT_EQ(read_file(folder / "m.csv"), "step,loss\n1,3\n2,4\n3,5\n");
}

}  // namespace
}  // namespace narrowgauge::csv_log_test
