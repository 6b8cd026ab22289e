// SPDX-License-Identifier: Apache-2.0
#include "io/tables/dates.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>

#include "base/text/ascii.h"

namespace narrowgauge {
namespace {

namespace chrono = std::chrono;

constexpr double seconds_in_day = 86400;

// Takes a text apart from its beginning.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool is_at_end() const { return rest_.empty(); }
  char next() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool take(char c) {
    const bool found = next() == c && !rest_.empty();
    if (found) rest_.remove_prefix(1);
    return found;
  }
  bool skip_blanks() {
    const std::size_t before = rest_.size();
    while (take(' ')) continue;
    return rest_.size() < before;
  }

  struct Number {
    int value = 0;
    std::size_t digits = 0;
  };
  // A whole number of at most so many digits.
  std::optional<Number> number(std::size_t most) {
    Number found;
    while (found.digits < rest_.size() && is_digit(rest_[found.digits])) ++found.digits;
    if (found.digits == 0 || found.digits > most) return std::nullopt;
    std::from_chars(rest_.data(), rest_.data() + found.digits, found.value);
    rest_.remove_prefix(found.digits);
    return found;
  }
  std::string lower_word() {
    std::string word;
    for (; is_letter(next()); rest_.remove_prefix(1)) word += static_cast<char>(next() | 0x20);
    return word;
  }

 private:
  std::string_view rest_;
};

// The number of a month, from 1 on; 0 for a word that is none. Three letters suffice, as does
// "sept".
int month_of(const std::string& word) {
  constexpr std::array<std::string_view, 12> months{
      "january", "february", "march",     "april",   "may",      "june",
      "july",    "august",   "september", "october", "november", "december"};
  if (word.size() < 3) return 0;
  const auto* const found =
      std::ranges::find_if(months, [&](std::string_view month) { return month.starts_with(word); });
  return found == months.end() ? 0 : static_cast<int>(found - months.begin()) + 1;
}

int full_year(const Reader::Number& year) {
  if (year.digits > 2) return year.value;
  return year.value + (year.value >= 69 ? 1900 : 2000);
}

std::optional<double> days_of(int year, int month, int day) {
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (year < 1 || month < 1 || day < 1 || !date.ok()) return std::nullopt;
  return static_cast<double>(chrono::sys_days(date).time_since_epoch().count());
}

// What stands between the parts of a date: blanks, or one sign with blanks around it.
char read_separator(Reader& reader) {
  const bool blank = reader.skip_blanks();
  for (const char c : {'-', '/', '.', ','})
    if (reader.take(c)) {
      reader.skip_blanks();
      return c;
    }
  return blank ? ' ' : '\0';
}

// "Jan 31, 2024", behind whose month and day the year follows.
std::optional<double> date_from_month(Reader& reader) {
  const int month = month_of(reader.lower_word());
  if (month == 0 || read_separator(reader) == '\0') return std::nullopt;
  const auto day = reader.number(2);
  if (!day || read_separator(reader) == '\0') return std::nullopt;
  const auto year = reader.number(4);
  if (!year || year->digits != 4) return std::nullopt;
  return days_of(year->value, month, day->value);
}

// "31 Jan 2024" behind its day, or "2024-Jan-31" behind its year.
std::optional<double> date_around_month(Reader& reader, const Reader::Number& first) {
  const int month = month_of(reader.lower_word());
  if (month == 0 || read_separator(reader) == '\0') return std::nullopt;
  const auto last = reader.number(4);
  if (!last) return std::nullopt;
  if (first.digits == 4)
    return last->digits <= 2 ? days_of(first.value, month, last->value) : std::nullopt;
  const bool year = first.digits <= 2 && (last->digits == 2 || last->digits == 4);
  return year ? days_of(full_year(*last), month, first.value) : std::nullopt;
}

std::optional<double> read_date(Reader& reader, DateOrder order) {
  if (is_letter(reader.next())) return date_from_month(reader);
  const auto first = reader.number(4);
  const char separator = first ? read_separator(reader) : '\0';
  if (separator == '\0') return std::nullopt;
  if (is_letter(reader.next())) return date_around_month(reader, *first);
  const auto second = separator == ' ' || separator == ',' ? std::nullopt : reader.number(2);
  if (!second) return std::nullopt;
  const bool is_month = first->digits == 4 && second->digits == 2 && separator != '.';
  if (is_month && reader.is_at_end()) return days_of(first->value, second->value, 1);
  if (!reader.take(separator)) return std::nullopt;
  const auto third = reader.number(4);
  if (!third || third->digits == 3 || first->digits == 3) return std::nullopt;
  if (first->digits == 4)
    return third->digits <= 2 ? days_of(first->value, second->value, third->value) : std::nullopt;
  if (order == DateOrder::year_first || third->digits < 2) return std::nullopt;
  // "1.2.13" is a version rather than a day.
  const bool all_short = third->digits == 2 && first->digits + second->digits < 4;
  if (separator == '.' && all_short) return std::nullopt;
  const int year = full_year(*third);
  return order == DateOrder::day_first ? days_of(year, second->value, first->value)
                                       : days_of(year, first->value, second->value);
}

// The seconds in what stands behind the hours: ":30", ":30:15" or ":30:15.25".
std::optional<double> read_minutes(Reader& reader) {
  if (!reader.take(':')) return std::nullopt;
  const auto minutes = reader.number(2);
  if (!minutes || minutes->value > 59) return std::nullopt;
  double seconds = 60.0 * minutes->value;
  if (!reader.take(':')) return seconds;
  const auto whole = reader.number(2);
  constexpr int most_seconds = 60;  // a leap second
  if (!whole || whole->value > most_seconds) return std::nullopt;
  seconds += whole->value;
  if (!reader.take('.') && !reader.take(',')) return seconds;
  double share = 0.1;
  if (!is_digit(reader.next())) return std::nullopt;
  for (; is_digit(reader.next()); share /= 10) {
    seconds += share * (reader.next() - '0');
    reader.take(reader.next());
  }
  return seconds;
}

// "+02:00", "-0500", "+01" or "Z", in seconds; nothing for what is no zone.
std::optional<double> read_zone(Reader& reader) {
  if (reader.take('Z') || reader.take('z')) return 0;
  const bool east = reader.take('+');
  if (!east && !reader.take('-')) return std::nullopt;
  const auto hours = reader.number(4);
  if (!hours || hours->digits == 1 || hours->digits == 3) return std::nullopt;
  int minutes = hours->digits == 4 ? hours->value % 100 : 0;
  const int whole = hours->digits == 4 ? hours->value / 100 : hours->value;
  if (hours->digits == 2 && reader.take(':')) {
    const auto more = reader.number(2);
    if (!more) return std::nullopt;
    minutes = more->value;
  }
  if (whole > 14 || minutes > 59) return std::nullopt;
  return (east ? 60.0 : -60.0) * (60 * whole + minutes);
}

// Seconds of the day, in UTC where there is a zone.
std::optional<double> read_time(Reader& reader) {
  const auto hours = reader.number(2);
  std::optional<double> seconds = hours ? read_minutes(reader) : std::nullopt;
  if (!seconds || hours->value > 24) return std::nullopt;
  int hour = hours->value;
  reader.skip_blanks();
  if (const char c = reader.next(); c == 'A' || c == 'a' || c == 'P' || c == 'p') {
    const std::string half = reader.lower_word();
    if ((half != "am" && half != "pm") || hour < 1 || hour > 12) return std::nullopt;
    hour = hour % 12 + (half == "pm" ? 12 : 0);
  }
  seconds = *seconds + 3600.0 * hour;
  if (*seconds > seconds_in_day) return std::nullopt;
  if (reader.is_at_end()) return seconds;
  if (reader.next() == 'U' || reader.next() == 'G') {
    const std::string zone = reader.lower_word();
    return (zone == "utc" || zone == "gmt") ? seconds : std::nullopt;
  }
  const std::optional<double> zone = read_zone(reader);
  return zone ? std::optional(*seconds - *zone) : std::nullopt;
}

}  // namespace

std::optional<Date> parse_date(std::string_view field, DateOrder order) {
  Reader reader(field);
  const std::optional<double> days = read_date(reader, order);
  if (!days) return std::nullopt;
  if (reader.is_at_end()) return Date{*days, false};
  const bool divided = reader.take('T') || reader.take('t') || read_separator(reader) != '\0';
  const std::optional<double> seconds = divided ? read_time(reader) : std::nullopt;
  if (!seconds || !reader.is_at_end()) return std::nullopt;
  return Date{*days + *seconds / seconds_in_day, true};
}

double share_of_year(double days) {
  const double whole = std::floor(days);
  const chrono::sys_days day{chrono::days(static_cast<int>(whole))};
  const chrono::year year = chrono::year_month_day(day).year();
  const chrono::sys_days begin = year / chrono::January / 1;
  const chrono::sys_days end = (year + chrono::years(1)) / chrono::January / 1;
  return (static_cast<double>((day - begin).count()) + (days - whole)) /
         static_cast<double>((end - begin).count());
}

}  // namespace narrowgauge
