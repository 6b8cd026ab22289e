// SPDX-License-Identifier: Apache-2.0
// Who reads a data set is found by name and content; what nobody reads is refused in words.
#include <gtest/gtest.h>

#include <algorithm>

#include "io/files.h"
#include "io/readers/reader.h"

namespace narrowgauge::load_data_test {
namespace {

using testing_files::TemporaryFolder;
using testing_files::write_file;

std::string refusal(const std::string& name) {
  try {
    load_data(name);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

TEST(load_data, what_nobody_reads_is_refused_with_what_there_is) {
  const TemporaryFolder folder;
  const std::string expected = ": expected " + data_help();
  EXPECT_EQ(refusal(folder.path()),
            "data " + folder.path() + expected + ", found a folder of other files");
  write_file(folder / "notes", "no data");
  EXPECT_EQ(refusal(folder / "notes"),
            "data " + (folder / "notes") + expected + ", found a file of another format");
  EXPECT_EQ(refusal("glyhps"),
            "data glyhps" + expected + ", found none of them; did you mean glyphs?");
}

TEST(load_data, readers_have_names_of_their_own_and_say_what_they_read) {
  for (const DataReader* reader : readers()) {
    EXPECT_NE(data_help().find(reader->help), std::string::npos);
    EXPECT_EQ(std::ranges::count(readers(), reader->name, &DataReader::name), 1);
  }
}

}  // namespace
}  // namespace narrowgauge::load_data_test
