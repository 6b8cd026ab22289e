// SPDX-License-Identifier: Apache-2.0
// CSV files as data sets: what is read, where the label stands, and what is refused with its line
// and column.
#include <gtest/gtest.h>

#include <fstream>

#include "io/files.h"
#include "narrowgauge/data.h"

namespace narrowgauge::csv_test {
namespace {

using testing_files::most_memory;
using testing_files::TemporaryFolder;
using testing_files::write_file;

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.at(i));
  return values;
}

DataSplit read(const std::string& text, const char* name = "set.csv") {
  const TemporaryFolder folder;
  write_file(folder / name, text);
  return load_data(folder / name);
}

// What the file is refused with, after its path.
std::string refusal(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder / "set.csv";
  write_file(path, text);
  try {
    load_data(path);
  } catch (const DataError& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with(path)) << message;
    return message.substr(path.size());
  }
  return "none";
}

TEST(csv, every_fifth_sample_of_a_file_is_for_the_test) {
  const DataSplit set = read("1,2,0\n3,4,1\n5,6,0\n7,8,1\n9,10,1\n11,12,0\n");
  EXPECT_EQ(numbers(set.train.input()), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 11, 12}));
  EXPECT_EQ(numbers(set.train.target()), (std::vector<double>{0, 1, 0, 1, 0}));
  EXPECT_EQ(numbers(set.test.input()), (std::vector<double>{9, 10}));
  EXPECT_EQ(numbers(set.test.target()), (std::vector<double>{1}));
  EXPECT_EQ(set.train.input().type(), TensorType::parse("f32[5,2]"));
  EXPECT_EQ(set.train.target().type(), TensorType::parse("i64[5]"));
  EXPECT_EQ(set.train.classes, 2);
  EXPECT_EQ(set.train.name, "set/train");
}

TEST(csv, a_header_says_which_column_is_the_label) {
  const std::string rows = "0,1.5\n1,2\n0,3\n1,4\n1,5\n";
  EXPECT_EQ(numbers(read("Class,\"width, cm\"\n" + rows).train.input()),
            (std::vector<double>{1.5, 2, 3, 4}));
  EXPECT_EQ(read("width,kind\n"
                 "1.5,0\n2,1\n3,0\n4,1\n5,1\n")
                .train.classes,
            2);
}

TEST(csv, blanks_quotes_line_ends_and_signs_are_taken_as_spreadsheets_write_them) {
  const DataSplit set =
      read("\xef\xbb\xbf +1 , \"-2e-1\" ,0\r\n\r\n3,4,1\r\n5,6,0\r\n7,8,1\r\n9,1,1");
  EXPECT_EQ(numbers(set.train.input()),
            (std::vector<double>{1, static_cast<double>(-0.2F), 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(numbers(set.test.input()), (std::vector<double>{9, 1}));
}

TEST(csv, a_folder_has_a_file_for_training_and_one_for_the_test) {
  const TemporaryFolder folder;
  write_file(folder / "train.csv", "x,y\n1,0\n2,1\n");
  write_file(folder / "test.csv", "x,y\n3,1\n");
  const DataSplit set = load_data(folder.path());
  EXPECT_EQ(numbers(set.train.input()), (std::vector<double>{1, 2}));
  EXPECT_EQ(numbers(set.test.input()), (std::vector<double>{3}));
  write_file(folder / "test.csv", "x,y\n3,2\n");
  EXPECT_THROW(load_data(folder.path()), DataError);  // a class that training does not have
  write_file(folder / "test.csv", "y,z,x\n0,2,4\n");
  EXPECT_EQ(numbers(load_data(folder.path()).test.input()), (std::vector<double>{4}));
  write_file(folder / "test.csv", "z,y\n3,1\n");
  EXPECT_THROW(load_data(folder.path()), DataError);
}

TEST(csv, a_file_without_the_ending_is_known_by_its_content) {
  EXPECT_EQ(read("1,0\n2,1\n3,0\n4,1\n5,0\n", "numbers").train.size(), 4);
  EXPECT_THROW(read(std::string("1,0\0\n2,1\n", 9), "numbers"), DataError);
}

TEST(csv, what_is_wrong_is_named_with_line_and_column) {
  const std::string good = "x,y\n1,0\n2,1\n3,0\n4,1\n";
  EXPECT_EQ(refusal(good + "five,0\n"),
            ", line 6, column 'x': expected a number that f32 holds, found 'five'");
  EXPECT_EQ(refusal(good + "1e99,0\n"),
            ", line 6, column 'x': expected a number that f32 holds, found '1e99'");
  EXPECT_EQ(refusal(good + "inf,0\n"),
            ", line 6, column 'x': expected a number that f32 holds, found 'inf'");
  EXPECT_EQ(refusal("1,0\n2,1\nx,0\n4,1\n5,0\n"),
            ", line 3, column '1': expected a number as in most rows, found 'x'");
  EXPECT_EQ(refusal(good + "5,\n"),
            ", line 6, column 'y': expected a class as a whole number from 0 on, found ''");
  EXPECT_EQ(refusal(good + "5,0,1\n"),
            ", line 6: expected 2 columns as in the first line, found 3");
  EXPECT_EQ(refusal(good + "5\n"), ", line 6: expected 2 columns as in the first line, found 1");
  EXPECT_EQ(refusal("7\n8\n"),
            ", line 1: expected columns with commas, tabs or semicolons between them, found 1 "
            "column");
  EXPECT_EQ(refusal(""), ": expected rows of numbers and texts, found none");
  EXPECT_EQ(refusal("x,y\n"), ": expected rows of numbers and texts, found only a header");
  EXPECT_EQ(refusal("x,y\n1,0\n\"2,1\n3,0\n"), ", line 3: a quote is not closed");
  EXPECT_EQ(refusal("1,0\n2,1\n"),
            ": expected samples for training and test, of which the test gets a share of 0.2, "
            "found 2");
  EXPECT_EQ(refusal(good + "5,900\n6,1000\n"),
            ": label 1000 of sample 4 is out of range: only 2 "
            "of the 1000 labels below it have samples");
  EXPECT_EQ(refusal(std::string(40 << 20, '1')), ", line 1: is longer than 16777216 bytes");
}

TEST(csv, memory_is_taken_for_numbers_and_not_for_text) {
  const TemporaryFolder folder;
  const std::string path = folder / "long.csv";
  std::string line(199, ' ');  // 200 bytes that become 12
  line.replace(0, 3, "1,0");
  std::ofstream file(path);
  for (int i = 0; i < 400'000; ++i) file << line << '\n';
  file.close();
  const std::int64_t before = most_memory();
  EXPECT_EQ(load_data(path).train.size(), 320'000);
  EXPECT_LT(most_memory() - before, 20 << 10);  // KiB
}

}  // namespace
}  // namespace narrowgauge::csv_test
