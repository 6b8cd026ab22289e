// SPDX-License-Identifier: Apache-2.0
// Dates in the fields of a table, with or without a time of the day.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace narrowgauge {

// The order in which a field has the parts of its date. Where the month is a word, or the year
// stands first, a field is read the same way in any order.
enum class DateOrder : std::uint8_t {
  year_first,   // 2024-01-31
  day_first,    // 31.1.2024
  month_first,  // 1/31/2024
};

// A date by the Gregorian calendar; of a field that names a time zone in UTC.
struct Date {
  double days = 0;  // since the beginning of 1970, the time of the day being a part of one
  bool has_time = false;
};

// "2024-01-31", "2024/1/31", "31.1.2024", "1/31/24", "31 Jan 2024", "January 31, 2024", each of
// them with a time: "2024-01-31T12:30:00.5+02:00", "1/31/2024 3:05 PM", and "2024-01", the first of
// its month. Years of two digits are from 1969 to 2068. Nothing for what is no date in this order,
// as a day that its month has not.
std::optional<Date> parse_date(std::string_view field, DateOrder order);

// The share of its year that has passed, from 0 below 1.
double share_of_year(double days);

}  // namespace narrowgauge
