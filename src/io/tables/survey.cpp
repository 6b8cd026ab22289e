// SPDX-License-Identifier: Apache-2.0
#include "io/tables/survey.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "base/nearest.h"
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

bool is_label_name(std::string lower) {
  constexpr std::array<std::string_view, 4> names{"label", "class", "target", "y"};
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(names, lower) != names.end();
}

// A first line names columns where it has a text above a number, which what stands for a missing
// value is not, or no numbers.
bool names_columns(const std::vector<std::string>& first, const std::vector<std::string>* second) {
  const auto is_text = [](const std::string& field) { return !is_number(field); };
  if (std::ranges::all_of(first, is_text)) return true;
  if (second == nullptr) return std::ranges::any_of(first, is_text);
  for (std::size_t i = 0; i < std::min(first.size(), second->size()); ++i)
    if (is_text(first[i]) && !is_missing(first[i]) && is_number((*second)[i])) return true;
  return false;
}

// The column of this name or number (from 1).
std::size_t find_column(const TableHead& head, const std::string& wanted, const char* what) {
  if (const auto named = std::ranges::find(head.names, wanted); named != head.names.end())
    return static_cast<std::size_t>(named - head.names.begin());
  const auto number = parse<std::size_t>(wanted);
  require(number && *number >= 1 && *number <= head.names.size(), what, ": there is no column '",
          wanted, "'", suggestion(wanted, head.names));
  return *number - 1;
}

std::size_t label_of(const TableHead& head, const std::string& wanted) {
  if (!wanted.empty()) return find_column(head, wanted, "label");
  const auto named = std::ranges::find_if(head.names, is_label_name);
  return head.has_header && named != head.names.end()
             ? static_cast<std::size_t>(named - head.names.begin())
             : head.names.size() - 1;
}

// What the rows for training have in a column.
struct Seen {
  std::int64_t numbers = 0, texts = 0, missing = 0;
  double sum = 0;
  std::set<std::string> words;         // of texts, and of numbers until there are many
  std::string first_text, where_text;  // the first that is no number
  bool all_whole = true;               // numbers: from 0 on
  std::int64_t largest = 0;

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
    } else if (texts++ == 0) {
      first_text = field;
      where_text = records.where();
    }
    if (words.size() <= most_words) words.insert(field);
  }
  bool is_text() const { return texts > numbers; }
  // Whole numbers that are too many and too far apart to be those of classes.
  bool is_scattered() const {
    constexpr std::int64_t many = 20;
    return std::ssize(words) > many && 2 * std::ssize(words) <= largest;
  }
};

TableColumn surveyed_column(const std::string& name, const Seen& seen, const std::string& path) {
  TableColumn column{.name = name};
  column.is_text = seen.is_text();
  if (column.is_text) {
    require<DataError>(seen.words.size() <= most_words, path, ": column '", name,
                       "' has more than ", most_words,
                       " different texts; --skip-columns leaves it out");
    constexpr std::size_t few = 100;
    const bool names_rows =
        seen.words.size() > few && 2 * std::ssize(seen.words) > seen.texts + seen.numbers;
    require<DataError>(!names_rows, path, ": column '", name, "' has another text in most rows, ",
                       "as names have; --skip-columns leaves it out");
    column.words.assign(seen.words.begin(), seen.words.end());
    return column;
  }
  require<DataError>(seen.texts == 0, seen.where_text, ", column '", name,
                     "': expected a number as in most rows, found '", seen.first_text, '\'');
  require<DataError>(seen.numbers > 0, path, ": column '", name, "' has no values");
  column.mean = seen.sum / static_cast<double>(seen.numbers);
  column.has_missing = seen.missing > 0;
  return column;
}

void take_label(TableSchema& schema, const Seen& seen, const std::string& path) {
  require<DataError>(seen.numbers + seen.texts > 0, path, ": the label '", schema.label,
                     "' has no values");
  if (seen.is_text() || (seen.texts > 0 && seen.words.size() <= most_words)) {
    require<DataError>(seen.words.size() <= most_words, path, ": the label '", schema.label,
                       "' has more than ", most_words, " different texts");
    schema.kind = TableLabel::names;
    schema.names.assign(seen.words.begin(), seen.words.end());
    schema.classes = std::ssize(schema.names);
  } else if (seen.all_whole && seen.largest < most_classes && !seen.is_scattered()) {
    schema.kind = TableLabel::numbers;
    schema.classes = seen.largest + 1;
  } else {
    require<DataError>(seen.texts == 0, seen.where_text, ", column '", schema.label,
                       "': expected a number as in most rows, found '", seen.first_text, '\'');
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

TableHead read_head(const std::string& path) {
  Records records(path);
  const std::vector<std::string>* next = records.next();
  require<DataError>(next != nullptr, path, ": expected rows of numbers and texts, found none");
  const std::vector<std::string> first = *next;
  require<DataError>(first.size() >= 2, records.where(),
                     ": expected columns with commas, tabs or semicolons between them, found ",
                     first.size(), " column");
  TableHead head{.has_header = names_columns(first, records.next()), .names = first};
  for (std::size_t i = 0; i < head.names.size(); ++i)
    if (!head.has_header || head.names[i].empty()) head.names[i] = std::to_string(i + 1);
  return head;
}

TableSchema survey_table(const std::string& path, const TableOptions& options,
                         const std::function<bool(std::int64_t row)>& is_training,
                         std::int64_t& rows) {
  const TableHead head = read_head(path);
  const std::size_t label = label_of(head, options.label);
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
    schema.columns.push_back(surveyed_column(head.names[i], seen[i], path));
    schema.places.push_back(static_cast<std::int64_t>(i));
  }
  require<DataError>(!schema.columns.empty(), path, ": has no column beside the label");
  take_label(schema, seen[label], path);
  return schema;
}

}  // namespace narrowgauge
