// SPDX-License-Identifier: Apache-2.0
#include "io/tables/survey.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "base/log.h"
#include "base/text/ascii.h"
#include "base/text/nearest.h"
#include "io/tables/records.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::size_t most_words = 10000;  // of a column of texts
constexpr std::int64_t most_classes = 65536;

template <class T>
std::optional<T> parse(std::string_view field) {
  T value{};
  if (field.starts_with('+')) field.remove_prefix(1);
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value;
}

bool is_number(const std::string& field) { return parse<double>(field).has_value(); }

constexpr std::array date_orders{DateOrder::year_first, DateOrder::day_first,
                                 DateOrder::month_first};

bool is_date(const std::string& field) {
  return std::ranges::any_of(date_orders,
                             [&](DateOrder order) { return parse_date(field, order).has_value(); });
}

bool is_label_name(const std::string& name) {
  constexpr std::array<std::string_view, 4> names{"label", "class", "target", "y"};
  return std::ranges::find(names, lower(name)) != names.end();
}

// A first line names columns where it has a text above a number, which what stands for a missing
// value is not, or no numbers.
bool names_columns(const std::vector<std::string>& first, const std::vector<std::string>* second) {
  const auto is_text = [](const std::string& field) { return !is_number(field); };
  // A date above a date is no name.
  for (std::size_t i = 0; second && i < std::min(first.size(), second->size()); ++i)
    if (is_date(first[i]) && is_date((*second)[i])) return false;
  if (std::ranges::all_of(first, is_text)) return true;
  if (second == nullptr) return std::ranges::any_of(first, is_text);
  for (std::size_t i = 0; i < std::min(first.size(), second->size()); ++i)
    if (is_text(first[i]) && !is_missing(first[i]) && is_number((*second)[i])) return true;
  return false;
}

// Columns without a name have their number.
void name_columns(TableHead& head) {
  const std::vector<std::string> given = head.names;
  std::set<std::string> taken(given.begin(), given.end());
  std::set<std::string> seen;
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::string& name = head.names[i];
    if (!head.has_header || name.empty()) name = std::to_string(i + 1);
    if (seen.insert(name).second) continue;
    if (std::ranges::find(head.repeated, name) == head.repeated.end())
      head.repeated.push_back(name);
    const std::string first = name;
    for (int number = 1; taken.contains(name) || seen.contains(name); ++number)
      name = concat(first, '.', number);
    seen.insert(name);
  }
}

// The column of this name or number (from 1).
std::size_t find_column(const TableHead& head, const std::string& wanted, const char* what) {
  require(std::ranges::find(head.repeated, wanted) == head.repeated.end(), what,
          ": there are several columns '", wanted, "'; a number (from 1) says which");
  if (const auto named = std::ranges::find(head.names, wanted); named != head.names.end())
    return static_cast<std::size_t>(named - head.names.begin());
  const auto number = parse<std::size_t>(wanted);
  require(number && *number >= 1 && *number <= head.names.size(), what, ": there is no column '",
          wanted, "'", suggestion(wanted, head.names));
  return *number - 1;
}

std::size_t label_of(const TableHead& head, const std::string& wanted, const std::string& path) {
  if (!wanted.empty()) return find_column(head, wanted, "label");
  for (const std::string& name : head.repeated)
    require<DataError>(!is_label_name(name), path, ": has several columns '", name,
                       "'; --label NUMBER says which is the label");
  const auto named = std::ranges::find_if(head.names, is_label_name);
  const auto is_as_named = [&](const std::string& name) { return lower(name) == lower(*named); };
  const bool found = head.has_header && named != head.names.end();
  require<DataError>(!found || std::ranges::count_if(head.names, is_as_named) == 1, path,
                     ": has several columns '", found ? *named : "",
                     "', but for large and small letters; --label says which is the label");
  return found ? static_cast<std::size_t>(named - head.names.begin()) : head.names.size() - 1;
}

// A field that is not what others of its column are.
struct OddField {
  std::string text, where;
  void note(const std::string& field, const Records& records) {
    if (!where.empty()) return;
    text = field;
    where = records.where();
  }
};

// What the rows for training have as dates in one of the orders.
struct SeenDates {
  std::int64_t count = 0;
  double sum = 0;  // of their days
  bool has_time = false;
  OddField first_other{};  // a text that is none

  void add(const std::string& field, DateOrder order, const Records& records) {
    const std::optional<Date> date = parse_date(field, order);
    if (!date) return first_other.note(field, records);
    ++count;
    sum += date->days;
    has_time |= date->has_time;
  }
};

// What the rows for training have in a column.
struct Seen {
  std::int64_t numbers = 0, texts = 0, missing = 0;
  double sum = 0;
  std::set<std::string> words;  // of texts, and of numbers until there are many
  OddField first_text, first_number;
  bool all_whole = true;  // numbers: from 0 on
  std::int64_t largest = 0;
  std::array<SeenDates, date_orders.size()> dates{};
  bool has_slash = false;  // whether a text has one

  void add(const std::string& field, const Records& records) {
    if (is_missing(field)) {
      ++missing;
      return;
    }
    if (const std::optional<double> number = parse<double>(field)) {
      ++numbers;
      sum += *number;
      const std::optional<std::int64_t> whole = table_class(field);
      all_whole &= whole.has_value();
      largest = std::max(largest, whole.value_or(0));
      first_number.note(field, records);
    } else {
      ++texts;
      first_text.note(field, records);
      has_slash |= field.find('/') != std::string::npos;
      for (std::size_t i = 0; i < dates.size(); ++i) dates[i].add(field, date_orders[i], records);
    }
    if (words.size() <= most_words) words.insert(field);
  }
  bool is_text() const { return texts > numbers; }
  // Texts as names and remarks have them: no two rows need have the same.
  bool names_rows() const {
    constexpr std::size_t few = 20;
    return is_text() && words.size() > few &&
           (words.size() > most_words || 2 * std::ssize(words) > texts + numbers);
  }
  // Whole numbers that are too many and too far apart to be those of classes.
  bool is_scattered() const {
    constexpr std::int64_t many = 20;
    return std::ssize(words) > many && 2 * std::ssize(words) <= largest;
  }
};

// The order in which most texts are dates, where most are. That of the year first, in which a date
// needs no order, goes before the others; of these, where no date tells, a slash stands behind the
// month and another sign behind the day.
std::optional<DateOrder> date_order_of(const Seen& seen) {
  if (!seen.is_text()) return std::nullopt;
  const auto count = [&](DateOrder order) {
    return seen.dates[static_cast<std::size_t>(order)].count;
  };
  const DateOrder by_sign = seen.has_slash ? DateOrder::month_first : DateOrder::day_first;
  DateOrder best = DateOrder::year_first;
  for (const DateOrder order : {by_sign, DateOrder::day_first, DateOrder::month_first})
    if (count(order) > count(best)) best = order;
  return 2 * count(best) > seen.texts + seen.numbers ? std::optional(best) : std::nullopt;
}

TableColumn surveyed_date(const std::string& name, const Seen& seen, DateOrder order,
                          const std::string& path) {
  const SeenDates& dates = seen.dates[static_cast<std::size_t>(order)];
  const OddField& other = dates.count < seen.texts ? dates.first_other : seen.first_number;
  require<DataError>(dates.count == seen.texts && seen.numbers == 0, other.where, ", column '",
                     name, "': expected a date as ", parts_of_date(order),
                     ", as in most rows, found '", other.text,
                     "'; --skip-columns leaves the column out");
  if (order != DateOrder::year_first) {
    const DateOrder reverse =
        order == DateOrder::day_first ? DateOrder::month_first : DateOrder::day_first;
    const bool is_unclear = seen.dates[static_cast<std::size_t>(reverse)].count == seen.texts;
    log(LogLevel::warning,
        concat(path, ": the dates of column '", name, "' are read as ", parts_of_date(order),
               is_unclear ? ", as no row tells day and month apart" : ""));
  }
  return {.name = name,
          .date = order,
          .has_time = dates.has_time,
          .mean = std::round(dates.sum / static_cast<double>(dates.count)),
          .has_missing = seen.missing > 0};
}

// What a column becomes; nothing for one that is left out, which a warning says.
std::optional<TableColumn> surveyed_column(const std::string& name, const Seen& seen,
                                           const std::string& path) {
  if (const std::optional<DateOrder> order = date_order_of(seen))
    return surveyed_date(name, seen, *order, path);
  if (seen.names_rows()) {
    log(LogLevel::warning,
        concat(path, ": column '", name, "' is left out: it has ",
               seen.words.size() > most_words ? concat("more than ", most_words)
                                              : concat(seen.words.size()),
               " different texts in ", seen.texts + seen.numbers, " rows, as names have"));
    return std::nullopt;
  }
  TableColumn column{.name = name};
  column.is_text = seen.is_text();
  if (column.is_text) {
    column.words.assign(seen.words.begin(), seen.words.end());
    return column;
  }
  require<DataError>(seen.texts == 0, seen.first_text.where, ", column '", name,
                     "': expected a number as in most rows, found '", seen.first_text.text, '\'');
  require<DataError>(seen.numbers > 0, path, ": column '", name, "' has no values");
  column.mean = seen.sum / static_cast<double>(seen.numbers);
  column.has_missing = seen.missing > 0;
  return column;
}

void take_label(TableSchema& schema, const Seen& seen, const std::string& path) {
  require<DataError>(seen.numbers + seen.texts > 0, path, ": the label '", schema.label,
                     "' has no values");
  if (seen.is_text() || (seen.texts > 0 && seen.words.size() <= most_words)) {
    require<DataError>(!seen.names_rows(), path, ": the label '", schema.label, "' has ",
                       seen.words.size(), " different texts in ", seen.texts + seen.numbers,
                       " rows, too many for classes; --label names another column");
    schema.kind = TableLabel::names;
    schema.names.assign(seen.words.begin(), seen.words.end());
    schema.classes = std::ssize(schema.names);
  } else if (seen.all_whole && seen.largest < most_classes && !seen.is_scattered()) {
    schema.kind = TableLabel::numbers;
    schema.classes = seen.largest + 1;
  } else {
    require<DataError>(seen.texts == 0, seen.first_text.where, ", column '", schema.label,
                       "': expected a number as in most rows, found '", seen.first_text.text, '\'');
    schema.kind = TableLabel::real;
  }
}

}  // namespace

std::optional<float> table_number(const std::string& field) {
  const std::optional<float> number = parse<float>(field);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> table_class(const std::string& field) {
  const std::optional<std::int64_t> number = parse<std::int64_t>(field);
  return number && *number >= 0 ? number : std::nullopt;
}

TableHead read_head(const std::string& path, std::size_t least_columns) {
  Records records(path);
  const std::vector<std::string>* next = records.next();
  require<DataError>(next != nullptr, path, ": expected rows of numbers and texts, found none");
  const std::vector<std::string> first = *next;
  require<DataError>(first.size() >= least_columns, records.where(),
                     ": expected columns with commas, tabs or semicolons between them, found ",
                     first.size(), " column");
  TableHead head{
      .has_header = names_columns(first, records.next()), .names = first, .repeated = {}};
  name_columns(head);
  return head;
}

void tell_repeated(const TableHead& head, const std::string& path) {
  for (const std::string& name : head.repeated)
    log(LogLevel::warning, concat(path, ": has several columns '", name,
                                  "'; those behind the first are called '", name, ".1' and so on"));
}

const char* parts_of_date(DateOrder order) {
  return order == DateOrder::day_first     ? "day, month and year"
         : order == DateOrder::month_first ? "month, day and year"
                                           : "year, month and day";
}

TableSchema survey_table(const std::string& path, const TableOptions& options,
                         const std::function<bool(std::int64_t row)>& is_training,
                         std::int64_t& rows) {
  const TableHead head = read_head(path);
  tell_repeated(head, path);
  const std::size_t label = label_of(head, options.label, path);
  std::vector<bool> skipped(head.names.size());
  for (const std::string& column : options.skip) skipped[find_column(head, column, "skip")] = true;
  std::vector<Seen> seen(head.names.size());
  Records records(path);
  if (head.has_header) records.next();
  for (rows = 0; const std::vector<std::string>* const fields = records.next(); ++rows) {
    check_width(records, *fields, head.names.size());
    if (!is_training(rows)) continue;
    for (std::size_t i = 0; i < fields->size(); ++i)
      if (!skipped[i]) seen[i].add((*fields)[i], records);
  }
  require<DataError>(rows > 0, path, ": expected rows of numbers and texts, found only a header");
  TableSchema schema{.has_header = head.has_header};
  schema.label = head.names[label];
  schema.label_place = static_cast<std::int64_t>(label);
  for (std::size_t i = 0; i < head.names.size(); ++i) {
    if (i == label || skipped[i]) continue;
    std::optional<TableColumn> column = surveyed_column(head.names[i], seen[i], path);
    if (!column) continue;
    schema.columns.push_back(*std::move(column));
    schema.places.push_back(static_cast<std::int64_t>(i));
  }
  require<DataError>(!schema.columns.empty(), path, ": has no column beside the label");
  take_label(schema, seen[label], path);
  return schema;
}

}  // namespace narrowgauge
