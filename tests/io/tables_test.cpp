// SPDX-License-Identifier: Apache-2.0
// Tables: columns with types, missing values, and the same features for another table.
#include "narrowgauge/tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <numbers>

#include "io/files.h"
#include "io/tables/records.h"
#include "io/tables/schema.h"
#include "narrowgauge/error.h"
#include "narrowgauge/log.h"

namespace narrowgauge::tables_test {
namespace {

using testing_files::TemporaryFolder;
using testing_files::write_file;

// What the library warned of while it lives.
class Warnings {
 public:
  Warnings() {
    set_log_sink([this](LogLevel, const std::string& message) {
      const std::lock_guard lock(mutex_);
      all_.push_back(message);
    });
  }
  ~Warnings() { set_log_sink({}); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  const std::vector<std::string>& all() const { return all_; }
  std::string text() const {
    std::string text;
    for (const std::string& message : all_) text += message + '\n';
    return text;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> all_;
};

class tables : public testing::Test {
 protected:
  std::string file(const std::string& text, const std::string& name = "set.csv") const {
    write_file(folder_ / name, text);
    return folder_ / name;
  }
  static std::vector<std::vector<double>> rows(const Tensor& tensor) {
    std::vector<std::vector<double>> all;
    const std::int64_t width = tensor.size() / tensor.dims()[0];
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (i % width == 0) all.emplace_back();
      all.back().push_back(tensor.at(i));
    }
    return all;
  }
  template <class Error>
  static std::string refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  TemporaryFolder folder_;
};

constexpr const char* people =
    "age,job,hours,income\n"
    "20,cook,40,low\n"
    ",pilot,35,high\n"
    "40,cook,NA,low\n"
    "60,nurse,50,high\n"
    "30,NA,45,low\n";

const std::vector<std::string> people_features{
    "age", "age is missing", "job=cook", "job=nurse", "job=pilot", "hours", "hours is missing"};

TEST_F(tables, columns_become_features_by_their_types) {
  const DataSplit set = read_table(file(people), {.test_share = 0.2});
  EXPECT_EQ(set.train.feature_names, people_features);
  EXPECT_EQ(set.train.class_names, (std::vector<std::string>{"high", "low"}));
  EXPECT_EQ(set.train.classes, 2);
  const double age = 40;  // mean of 20, 40 and 60
  const auto hours = static_cast<double>(static_cast<float>(125.0 / 3));
  EXPECT_EQ(rows(set.train.input()), (std::vector<std::vector<double>>{{20, 0, 1, 0, 0, 40, 0},
                                                                       {age, 1, 0, 0, 1, 35, 0},
                                                                       {40, 0, 1, 0, 0, hours, 1},
                                                                       {60, 0, 0, 1, 0, 50, 0}}));
  EXPECT_EQ(rows(set.test.input()), (std::vector<std::vector<double>>{{30, 0, 0, 0, 0, 45, 0}}));
  EXPECT_EQ(rows(set.test.target()), (std::vector<std::vector<double>>{{1}}));
}

TEST_F(tables, the_features_are_found_on_the_rows_for_training_alone) {
  // The fifth row, which is for the test, has the only missing number and a word of its own.
  const DataSplit set = read_table(file("x,w,y\n1,a,0\n2,b,1\n3,a,0\n4,b,1\n,c,1\n"), {});
  EXPECT_EQ(set.train.feature_names, (std::vector<std::string>{"x", "w=a", "w=b"}));
  EXPECT_EQ(rows(set.test.input()), (std::vector<std::vector<double>>{{2.5, 0, 0}}));
}

TEST_F(tables, separators_are_found) {
  const DataSplit tabs = read_table(file("a b\tc\ty\n1\t\t0\n2\t5\t1\n3\t6\t1\n4\t7\t0\n5\t8\t1\n"),
                                    {.test_share = 0.4});
  EXPECT_EQ(tabs.train.feature_names, (std::vector<std::string>{"a b", "c", "c is missing"}));
  const DataSplit semicolons =
      read_table(file("a;b, c;y\n1;2;0\n2;3;1\n3;4;1\n4;5;0\n5;6;1\n"), {});
  EXPECT_EQ(semicolons.train.feature_names, (std::vector<std::string>{"a", "b, c"}));
}

TEST_F(tables, quotes_hold_separators_line_ends_and_quotes) {
  Records records(file("\"a, b\" , \"say \"\"hi\"\"\",\"two\nlines\"\r\n5\" pipe,x,\"\"\n"));
  const std::vector<std::string>* fields = records.next();
  ASSERT_NE(fields, nullptr);
  EXPECT_EQ(*fields, (std::vector<std::string>{"a, b", "say \"hi\"", "two\nlines"}));
  EXPECT_TRUE(records.where().ends_with(", line 1"));
  fields = records.next();
  ASSERT_NE(fields, nullptr);
  EXPECT_EQ(*fields, (std::vector<std::string>{"5\" pipe", "x", ""}));
  EXPECT_TRUE(records.where().ends_with(", line 3"));
  EXPECT_EQ(records.next(), nullptr);
}

TEST_F(tables, a_first_line_of_data_with_a_text_label_is_no_header) {
  const DataSplit set =
      read_table(file("5.1,3.5,setosa\n4.9,3.0,setosa\n6.2,3.1,virginica\n6.0,3.2,virginica\n"
                      "5.0,3.4,setosa\n"),
                 {});
  EXPECT_EQ(set.train.size() + set.test.size(), 5);
  EXPECT_EQ(set.train.class_names, (std::vector<std::string>{"setosa", "virginica"}));
  EXPECT_EQ(set.train.feature_names, (std::vector<std::string>{"1", "2"}));
}

TEST_F(tables, whole_numbers_far_apart_are_no_classes) {
  std::string prices = "area,price\n", classes = "area,kind\n";
  for (int i = 0; i < 60; ++i) {
    prices += std::to_string(i) + ',' + std::to_string(1000 + 37 * i) + '\n';
    classes += std::to_string(i) + ',' + std::to_string(i % 23) + '\n';
  }
  EXPECT_EQ(read_table(file(prices), {}).train.target().type(), TensorType::parse("f32[48,1]"));
  EXPECT_EQ(read_table(file(classes), {}).train.classes, 23);
}

TEST_F(tables, a_first_line_of_data_with_a_missing_value_is_no_header) {
  for (const char* const missing : {"", "NA"}) {
    const DataSplit set = read_table(
        file(std::string("5.1,") + missing +
             ",setosa\n4.9,3.0,setosa\n6.2,3.1,virginica\n6.0,3.2,virginica\n5.0,3.4,setosa\n"),
        {.test_share = 1});
    EXPECT_EQ(set.train.size(), 5) << missing;
    EXPECT_EQ(set.train.feature_names, (std::vector<std::string>{"1", "2", "2 is missing"}));
  }
}

TEST_F(tables, a_header_may_leave_out_the_name_of_the_index) {
  const DataSplit set =
      read_table(file(",colour,label\n0,red,a\n1,blue,b\n2,red,a\n"), {.test_share = 1});
  EXPECT_EQ(set.train.size(), 3);
  EXPECT_EQ(set.train.class_names, (std::vector<std::string>{"a", "b"}));
}

TEST_F(tables, the_label_is_chosen_and_columns_are_passed_over) {
  const std::string path = file(people);
  EXPECT_THROW(read_table(path, {.label = "job"}), DataError);  // of one row it is missing
  std::string whole = people;
  whole.replace(whole.rfind("NA"), 2, "cook");
  const DataSplit by_name =
      read_table(file(whole, "whole.csv"), {.label = "job", .skip = {"income", "3"}});
  EXPECT_EQ(by_name.train.feature_names, (std::vector<std::string>{"age", "age is missing"}));
  EXPECT_EQ(by_name.train.classes, 3);
  EXPECT_NE(refusal<UsageError>([&] {
              read_table(path, {.label = "jop"});
            }).find("there is no column 'jop'; did you mean job?"),
            std::string::npos);
  EXPECT_THROW(read_table(path, {.skip = {"9"}}), UsageError);
  EXPECT_THROW(read_table(path, {.skip = {"age", "job", "hours"}}), DataError);
}

TEST_F(tables, numbers_with_fractions_as_a_label_are_met_and_are_no_classes) {
  const DataSplit set = read_table(file("x,y\n1,0.5\n2,-1\n3,2\n4,3\n5,7\n"), {});
  EXPECT_EQ(set.train.classes, 0);
  EXPECT_EQ(set.train.target().type(), TensorType::parse("f32[4,1]"));
  EXPECT_EQ(set.test.target().at(0), 7);
}

TEST_F(tables, another_table_becomes_the_same_features) {
  const DataSplit set = read_table(file(people), {.test_share = 0.2});
  // Other order of columns, one more, no label.
  const DataSet rows_of =
      read_rows(file("hours,note,job,age\n10,x,pilot,\n,y,baker,33\n", "new.csv"), set.table);
  const auto hours = static_cast<double>(static_cast<float>(125.0 / 3));
  EXPECT_EQ(rows(rows_of.input()), (std::vector<std::vector<double>>{{40, 1, 0, 0, 1, 10, 0},
                                                                     {33, 0, 0, 0, 0, hours, 1}}));
  EXPECT_TRUE(rows_of.targets.empty());
  const DataSplit other = read_table(file("income,hours,job,age\nlow,1,cook,2\n", "other.csv"),
                                     {.test_share = 1, .schema = set.table});
  EXPECT_EQ(rows(other.test.input()), (std::vector<std::vector<double>>{{2, 0, 1, 0, 0, 1, 0}}));
  EXPECT_EQ(other.test.target().at(0), 1);
  EXPECT_NE(refusal<DataError>([&] {
              read_rows(file("age,job\n1,cook\n"), set.table);
            }).find("has no column 'hours', which the training has"),
            std::string::npos);
  const auto unknown = [&] {
    read_table(file("income,hours,job,age\nmiddle,1,cook,2\n"),
               {.test_share = 1, .schema = set.table});
  };
  EXPECT_NE(refusal<DataError>(unknown).find("expected a class of the training, found 'middle'"),
            std::string::npos);
}

TEST_F(tables, without_a_header_columns_are_found_by_their_places) {
  const DataSplit set = read_table(file("1,a,5\n2,b,6\n3,a,7\n4,b,8\n5,a,9\n"), {.label = "2"});
  EXPECT_EQ(rows(read_rows(file("7,a,8\n", "a.csv"), set.table).input()),
            (std::vector<std::vector<double>>{{7, 8}}));
  EXPECT_EQ(rows(read_rows(file("7,8\n", "b.csv"), set.table).input()),
            (std::vector<std::vector<double>>{{7, 8}}));
  EXPECT_THROW(read_rows(file("7\n", "c.csv"), set.table), DataError);
}

TEST_F(tables, names_of_rows_are_no_words) {
  std::string text = "name,x,y\n";
  for (int i = 0; i < 300; ++i)
    text += "n" + std::to_string(i) + ',' + std::to_string(i) + ',' + std::to_string(i % 2) + '\n';
  const Warnings warnings;
  const DataSplit set = read_table(file(text), {});
  EXPECT_EQ(set.train.feature_names, std::vector<std::string>{"x"});
  EXPECT_EQ(warnings.all().size(), 1U);
  EXPECT_NE(warnings.text().find("column 'name' is left out: it has 240 different texts in 240 "
                                 "rows"),
            std::string::npos)
      << warnings.text();
  EXPECT_EQ(read_table(folder_ / "set.csv", {.skip = {"name"}}).train.feature_names,
            std::vector<std::string>{"x"});
  // The same table is asked about as it is.
  EXPECT_EQ(read_rows(folder_ / "set.csv", set.table).input().dims(), (Dims{300, 1}));
  EXPECT_EQ(warnings.all().size(), 1U);
  EXPECT_NE(refusal<DataError>([&] {
              read_table(folder_ / "set.csv", {.label = "name"});
            }).find("the label 'name' has 240 different texts in 240 rows"),
            std::string::npos);
}

// A day for each row, so many days behind the beginning of 2024, in this form.
std::string dated(const char* form, int rows = 40, int step = 9) {
  std::string text = "when,x,y\n";
  for (int i = 0; i < rows; ++i) {
    const std::chrono::year_month_day day =
        std::chrono::sys_days(std::chrono::year(2024) / 1 / 1) + std::chrono::days(step * i);
    char field[64];
    std::snprintf(field, sizeof field, form, static_cast<int>(day.year()),
                  static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
    text += std::string(field) + ',' + std::to_string(i % 7) + ',' + std::to_string(i % 2) + '\n';
  }
  return text;
}

TEST_F(tables, dates_become_days_and_parts_of_their_year) {
  const std::vector<std::string> features{"when (days)", "when (sin of year)", "when (cos of year)",
                                          "x"};
  const auto wanted =
      rows(read_table(file(dated("%d-%02u-%02u")), {.test_share = 1}).train.input());
  EXPECT_EQ(wanted[1][0] - wanted[0][0], 9);
  EXPECT_NEAR(wanted[0][1], 0, 1e-6);
  EXPECT_NEAR(wanted[0][2], 1, 1e-6);
  EXPECT_NEAR(wanted[10][1], std::sin(2 * std::numbers::pi * 90 / 366), 1e-6);
  for (const char* form : {"%d-%02u-%02u", "%d/%u/%u", "%1$d.%2$02u.%3$02u", "%3$u.%2$u.%1$d",
                           "%3$u/%2$u/%1$d", "%2$u/%3$u/%1$d", "\"%1$d-%2$02u-%3$02u\""}) {
    const DataSplit set = read_table(file(dated(form)), {.test_share = 1});
    EXPECT_EQ(set.train.feature_names, features) << form;
    EXPECT_EQ(rows(set.train.input()), wanted) << form;
    EXPECT_EQ(print(parse_schema(set.table)), set.table);
  }
}

TEST_F(tables, dates_have_times_gaps_and_days_outside_of_the_training) {
  std::string text = "when,y\n";
  for (int i = 0; i < 30; ++i)
    text += (i == 3 ? "" : "2024-03-" + std::to_string(i % 9 + 1) + "T06:00:00Z") + ',' +
            std::to_string(i % 2) + '\n';
  const DataSplit set = read_table(file(text), {.test_share = 1});
  EXPECT_EQ(
      set.train.feature_names,
      (std::vector<std::string>{"when (days)", "when (sin of year)", "when (cos of year)",
                                "when (sin of day)", "when (cos of day)", "when is missing"}));
  const auto seen = rows(set.train.input());
  EXPECT_EQ(seen[3], (std::vector<double>{0, 0, 0, 0, 0, 1}));
  EXPECT_NEAR(seen[0][3], 1, 1e-6);
  const auto later = rows(
      read_rows(file("when,z\n2034-03-01,1\nNA,1\n31 Dec 1999,1\n", "new.csv"), set.table).input());
  EXPECT_NEAR(later[0][0] - seen[0][0], 3652 - 0.25, 1e-3);
  EXPECT_EQ(later[1], (std::vector<double>{0, 0, 0, 0, 0, 1}));
  EXPECT_LT(later[2][0], -8000);
  EXPECT_NE(
      refusal<DataError>([&] { read_rows(file("when,z\n1.2.2024,1\n", "new.csv"), set.table); })
          .find("line 2, column 'when': expected a date as year, month and day, found "
                "'1.2.2024'"),
      std::string::npos);
}

TEST_F(tables, order_of_dates_is_that_of_all_rows_and_told) {
  const auto told = [&](const std::string& text) {
    const Warnings warnings;
    read_table(file(text), {.test_share = 1});
    return warnings.text();
  };
  EXPECT_NE(told(dated("%3$u/%2$u/%1$d"))
                .find("the dates of column 'when' are read as day, month and year"),
            std::string::npos);
  EXPECT_EQ(told(dated("%3$u/%2$u/%1$d")).find("as no row tells"), std::string::npos);
  EXPECT_EQ(told(dated("%d-%u-%u")), "");
  std::string unclear = "when,y\n";
  for (int i = 1; i < 10; ++i)
    unclear += "0" + std::to_string(i) + "/02/2024," + std::to_string(i % 2) + '\n';
  EXPECT_NE(told(unclear).find("month, day and year, as no row tells day and month apart"),
            std::string::npos)
      << told(unclear);
  std::ranges::replace(unclear, '/', '.');
  EXPECT_NE(told(unclear).find("day, month and year, as no row tells"), std::string::npos);
  EXPECT_NE(refusal<DataError>([&] {
              read_table(file(dated("%3$u.%2$u.%1$d") + "soon,1,0\n"), {.test_share = 1});
            })
                .find("line 42, column 'when': expected a date as day, month and year, as in most "
                      "rows, found 'soon'"),
            std::string::npos);
  // Numbers stay numbers, and rows of dates without names stay rows.
  EXPECT_EQ(read_table(file("t,y\n1700000000,0\n1700086400,1\n1700172800,0\n1700259200,1\n"),
                       {.test_share = 1})
                .train.feature_names,
            std::vector<std::string>{"t"});
  EXPECT_EQ(read_table(file("2024-01-01,a\n2024-01-02,b\n2024-01-03,a\n"), {.test_share = 1})
                .train.size(),
            3);
}

TEST_F(tables, columns_of_one_name_are_each_read_and_told) {
  const Warnings warnings;
  const DataSplit set = read_table(
      file("x,x,\"x \",,y\n1,10,100,7,0\n2,20,200,8,1\n3,30,300,9,0\n"), {.test_share = 1});
  EXPECT_EQ(set.train.feature_names, (std::vector<std::string>{"x", "x.1", "x.2", "4"}));
  EXPECT_EQ(rows(set.train.input())[1], (std::vector<double>{2, 20, 200, 8}));
  EXPECT_NE(warnings.text().find("has several columns 'x'"), std::string::npos);
  EXPECT_EQ(rows(read_rows(file("x,4,x,x,y\n5,1,50,500,0\n", "b.csv"), set.table).input()),
            (std::vector<std::vector<double>>{{5, 50, 500, 1}}));
}

TEST_F(tables, a_name_of_several_columns_chooses_none_of_them) {
  const std::string path = file("a,label,label\n1,0,5\n2,1,6\n3,0,7\n4,1,8\n5,0,9\n6,1,9\n");
  EXPECT_NE(refusal<DataError>([&] { read_table(path, {}); }).find("several columns 'label'"),
            std::string::npos);
  EXPECT_NE(refusal<UsageError>([&] {
              read_table(path, {.label = "label"});
            }).find("there are several columns 'label'; a number (from 1) says which"),
            std::string::npos);
  EXPECT_EQ(read_table(path, {.label = "2", .skip = {"3"}}).train.feature_names,
            std::vector<std::string>{"a"});
  const std::string cases = file("a,Label,label\n1,0,5\n2,1,6\n3,0,7\n4,1,8\n5,0,9\n6,1,9\n");
  EXPECT_NE(refusal<DataError>([&] {
              read_table(cases, {});
            }).find("several columns 'Label', but for large and small letters"),
            std::string::npos);
  EXPECT_EQ(read_table(cases, {.label = "Label"}).train.feature_names,
            (std::vector<std::string>{"a", "label"}));
}

TEST_F(tables, of_one_column_are_asked_about_where_the_training_had_one) {
  const DataSplit set = read_table(file("x,y\n1,0\n2,1\n3,0\n"), {.test_share = 1});
  EXPECT_EQ(rows(read_rows(file("x\n7\n8\n", "b.csv"), set.table).input()),
            (std::vector<std::vector<double>>{{7}, {8}}));
  EXPECT_THROW(read_table(folder_ / "b.csv", {}), DataError);
}

TEST_F(tables, of_earlier_versions_are_still_understood) {
  const std::string earlier =
      R"({"classes":2,"columns":[{"name":"day","words":["2024-01-01","2024-01-02"]},)"
      R"({"has_missing":true,"mean":3.5,"name":"x"}],"has_header":true,"kind":"numbers",)"
      R"("label":"y","label_place":2,"names":[],"places":[0,1]})";
  EXPECT_EQ(rows(read_rows(file("day,x\n2024-01-02,\n2024-01-05,7\n"), earlier).input()),
            (std::vector<std::vector<double>>{{0, 1, 3.5, 1}, {0, 0, 7, 0}}));
}

TEST_F(tables, a_schema_is_kept_as_text_and_damage_is_refused) {
  const DataSplit set = read_table(file(people), {});
  EXPECT_EQ(print(parse_schema(set.table)), set.table);
  for (const std::string& wrong :
       {std::string(), std::string("{}"), std::string("[1]"), set.table.substr(1),
        std::string(R"({"has_header":true,"label":"y","label_place":0,"kind":"names","classes":3,)"
                    R"("names":["a"],"places":[1],"columns":[{"name":"x","mean":0,)"
                    R"("has_missing":false}]})")})
    EXPECT_THROW(check_table(wrong), DataError) << wrong;
  const std::string places = R"("places":[0,1,2])";
  ASSERT_NE(set.table.find(places), std::string::npos);
  for (const char* wrong : {R"("places":[0,1,3])", R"("places":[0,1,1])", R"("places":[0,1,-2])",
                            R"("places":[0,1,99999999999])", R"("places":[0,1])"}) {
    std::string text = set.table;
    EXPECT_THROW(check_table(text.replace(text.find(places), places.size(), wrong)), DataError)
        << wrong;
  }
  std::string unsorted = set.table;
  unsorted.replace(unsorted.find("cook"), 4, "zoo");
  EXPECT_THROW(check_table(unsorted), DataError);
}

}  // namespace
}  // namespace narrowgauge::tables_test
