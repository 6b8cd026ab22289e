// SPDX-License-Identifier: Apache-2.0
// Dates of tables in their many forms, and what is none.
#include "io/tables/dates.h"

#include <gtest/gtest.h>

namespace narrowgauge::dates_test {
namespace {

constexpr double new_year_2024 = 19723;  // days since 1970: 54 years, 13 of them leap years

double days(std::string_view field, DateOrder order = DateOrder::year_first) {
  const std::optional<Date> date = parse_date(field, order);
  return date ? date->days : -1e9;
}

TEST(dates, of_all_forms_are_the_same_day) {
  for (const char* field :
       {"2024-01-31", "2024/1/31", "2024.01.31", "31 Jan 2024", "31-jan-2024", "31 January 2024",
        "Jan 31, 2024", "january 31 2024", "2024-Jan-31", "31-Jan-24"})
    EXPECT_EQ(days(field), new_year_2024 + 30) << field;
  for (const char* field : {"31.1.2024", "31.01.24", "31/01/2024", "31-1-2024", "31/1/24"})
    EXPECT_EQ(days(field, DateOrder::day_first), new_year_2024 + 30) << field;
  for (const char* field : {"1/31/2024", "01-31-2024", "1/31/24", "2024-01-31"})
    EXPECT_EQ(days(field, DateOrder::month_first), new_year_2024 + 30) << field;
  EXPECT_EQ(days("2024-01"), new_year_2024);
  EXPECT_EQ(days("1970-01-01"), 0);
  EXPECT_EQ(days("1969-12-31"), -1);
  EXPECT_EQ(days("1.1.69", DateOrder::day_first), -1e9);  // a version
  EXPECT_EQ(days("01.01.69", DateOrder::day_first), -365);
}

TEST(dates, have_times_and_zones) {
  for (const auto& [field, hours] : {std::pair<const char*, double>{"2024-01-01T12:00", 12},
                                     {"2024-01-01 12:00:00", 12},
                                     {"2024-01-01 12:30:36.0", 12.51},
                                     {"2024-01-01T12:00:00Z", 12},
                                     {"2024-01-01T12:00:00+02:00", 10},
                                     {"2024-01-01T12:00:00-0530", 17.5},
                                     {"2024-01-01 12:00 +01", 11},
                                     {"2024-01-01 12:00 UTC", 12},
                                     {"1 Jan 2024, 3:00 PM", 15},
                                     {"2024-01-01 12:15 am", 0.25},
                                     {"2024-01-01 24:00", 24}}) {
    const auto date = parse_date(field, DateOrder::year_first);
    ASSERT_TRUE(date) << field;
    EXPECT_TRUE(date->has_time);
    EXPECT_NEAR(date->days, new_year_2024 + hours / 24, 1e-9) << field;
  }
}

TEST(dates, are_not_found_in_other_texts) {
  for (const DateOrder order :
       {DateOrder::year_first, DateOrder::day_first, DateOrder::month_first})
    for (const char* field : {"",
                              "cook",
                              "2024",
                              "20240131",
                              "2024-13-01",
                              "2023-02-29",
                              "2024-00-10",
                              "1.2.13",
                              "10.0.0.1",
                              "12:30",
                              "2024-01-31T",
                              "2024-01-31T25:00",
                              "2024-01-31 12:61",
                              "31/12",
                              "Jan",
                              "may be",
                              "12-34-5678-9",
                              "2024-01-31x",
                              "1/1/1/1",
                              "555-1234",
                              "2024-01-31 UTC",
                              "0000-01-01",
                              "-5",
                              "\xff\xfe"})
      EXPECT_FALSE(parse_date(field, order)) << field;
  EXPECT_FALSE(parse_date("31/1/2024", DateOrder::month_first));
  EXPECT_FALSE(parse_date("1/31/2024", DateOrder::day_first));
  EXPECT_FALSE(parse_date("1/2/2024", DateOrder::year_first));
}

TEST(dates, know_the_share_of_their_year) {
  EXPECT_EQ(share_of_year(new_year_2024), 0);
  EXPECT_EQ(share_of_year(new_year_2024 + 183), 0.5);  // a leap year
  EXPECT_NEAR(share_of_year(-0.5), 364.5 / 365, 1e-12);
}

}  // namespace
}  // namespace narrowgauge::dates_test
