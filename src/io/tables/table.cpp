// SPDX-License-Identifier: Apache-2.0
// Tables are read twice: first to find out what their columns are, then into the rows of features.
// Only these stay in memory.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "base/files/memory.h"
#include "base/machine/floating_environment.h"
#include "io/readers/labels.h"
#include "io/readers/test_share.h"
#include "io/tables/records.h"
#include "io/tables/survey.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

namespace fs = std::filesystem;

// Rows as they are read.
struct Rows {
  Tensor x, y;
  std::int64_t filled = 0;

  Rows(std::int64_t count, const TableSchema& schema)
      : x(DType::f32, {count, schema.width()}),
        y(schema.kind == TableLabel::real ? Tensor(DType::f32, {count, 1})
                                          : Tensor(DType::i64, {count})) {}
};

void require_room(const std::string& path, const TableSchema& schema, std::int64_t rows) {
  require_memory({path, {{"samples", rows * (4 * schema.width() + 8)}}});
}

// Where the columns of a schema stand in a table; -1: there is no label.
struct Places {
  std::vector<std::size_t> columns;
  std::int64_t label = -1;
  std::size_t count = 0;  // columns of the table
};

Places places_in(const TableHead& head, const TableSchema& schema, const std::string& path,
                 bool needs_label) {
  Places places{.columns = {}, .label = -1, .count = head.names.size()};
  const auto named = [&](const std::string& name) {
    const auto found = std::ranges::find(head.names, name);
    return found == head.names.end() ? -1 : found - head.names.begin();
  };
  if (head.has_header && schema.has_header) {
    for (const TableColumn& column : schema.columns) {
      const auto place = named(column.name);
      require<DataError>(place >= 0, path, ": has no column '", column.name,
                         "', which the training has");
      places.columns.push_back(static_cast<std::size_t>(place));
    }
    places.label = named(schema.label);
  } else {
    // Without names the label may be left out, and those behind it move up.
    const auto last = std::ranges::max(schema.places);
    const bool labelled = std::ssize(head.names) > std::max(last, schema.label_place);
    const std::int64_t gone = labelled ? -1 : schema.label_place;
    require<DataError>(labelled || std::ssize(head.names) >= last + (last < gone ? 1 : 0), path,
                       ": has ", head.names.size(), " columns, fewer than the training");
    for (const std::int64_t place : schema.places)
      places.columns.push_back(static_cast<std::size_t>(place - (gone >= 0 && place > gone)));
    if (labelled) places.label = schema.label_place;
  }
  NG_INVARIANT(
      std::ranges::all_of(places.columns, [&](std::size_t place) { return place < places.count; }));
  require<DataError>(places.label >= 0 || !needs_label, path, ": has no column '", schema.label,
                     "', the label of the training");
  return places;
}

// Whether a table names its columns is known where those of the training have names: it says some
// of them, or none.
TableHead head_for(const std::string& path, const TableSchema& schema) {
  TableHead head = read_head(path, std::min<std::size_t>(schema.columns.size(), 2));
  const auto is_known = [&](const std::string& name) {
    return std::ranges::find(schema.columns, name, &TableColumn::name) != schema.columns.end();
  };
  head.has_header = schema.has_header && std::ranges::any_of(head.names, is_known);
  return head;
}

// Writes the fields of records into rows.
class RowReader {
 public:
  RowReader(const std::string& path, const TableSchema& schema, bool needs_label)
      : path_(path), schema_(schema), head_(head_for(path, schema)), records_(path) {
    places_ = places_in(head_, schema, path, needs_label);
    if (head_.has_header) records_.next();
  }
  bool has_label() const { return places_.label >= 0; }

  // The next row; false at the end of the file.
  bool next() {
    fields_ = records_.next();
    if (fields_ == nullptr) return false;
    check_width(records_, *fields_, places_.count);
    return true;
  }

  void take(Rows& rows) {
    float* to = rows.x.values<float>().data() + rows.filled * schema_.width();
    for (std::size_t c = 0; c < schema_.columns.size(); ++c)
      to = write(schema_.columns[c], places_.columns[c], to);
    if (has_label()) take_label(rows);
    ++rows.filled;
  }

 private:
  [[noreturn]] void refuse(std::size_t place, std::string_view expected) const {
    const std::string column =
        head_.has_header ? concat('\'', head_.names[place], '\'') : concat(place + 1);
    throw DataError(concat(records_.where(), ", column ", column, ": expected ", expected,
                           ", found '", (*fields_)[place], '\''));
  }

  float* write(const TableColumn& column, std::size_t place, float* to) const {
    const std::string& field = (*fields_)[place];
    if (column.is_text) {
      const auto found = std::ranges::lower_bound(column.words, field);
      if (found != column.words.end() && *found == field) to[found - column.words.begin()] = 1;
      return to + column.words.size();
    }
    const bool missing = is_missing(field);
    if (column.date) return write_date(column, place, missing, to);
    const std::optional<float> number =
        missing ? std::optional(static_cast<float>(column.mean)) : table_number(field);
    if (!number) refuse(place, "a number that f32 holds");
    *to++ = *number;
    if (column.has_missing) *to++ = missing ? 1 : 0;
    return to;
  }

  // Writes the features of a date; zeros where it is missing.
  float* write_date(const TableColumn& column, std::size_t place, bool missing, float* to) const {
    float* const end = to + column.width();
    if (column.has_missing) end[-1] = missing ? 1 : 0;
    if (missing) return end;
    const std::optional<Date> date = parse_date((*fields_)[place], *column.date);
    if (!date) refuse(place, concat("a date as ", parts_of_date(*column.date)));
    *to++ = static_cast<float>(date->days - column.mean);
    const auto add_share = [&](double share) {
      const double angle = 2 * std::numbers::pi * share;
      *to++ = static_cast<float>(std::sin(angle));
      *to++ = static_cast<float>(std::cos(angle));
    };
    add_share(share_of_year(date->days));
    if (column.has_time) add_share(date->days - std::floor(date->days));
    return end;
  }

  void take_label(Rows& rows) const {
    const auto place = static_cast<std::size_t>(places_.label);
    const std::string& field = (*fields_)[place];
    if (schema_.kind == TableLabel::real) {
      const std::optional<float> number = table_number(field);
      if (!number) refuse(place, "a number that f32 holds as the label");
      rows.y.values<float>()[static_cast<std::size_t>(rows.filled)] = *number;
      return;
    }
    std::int64_t label = table_class(field).value_or(-1);
    if (schema_.kind == TableLabel::names) {
      const auto found = std::ranges::lower_bound(schema_.names, field);
      const bool known = found != schema_.names.end() && *found == field;
      label = known ? found - schema_.names.begin() : -1;
    }
    if (label < 0)
      refuse(place, schema_.kind == TableLabel::names ? "a class of the training"
                                                      : "a class as a whole number from 0 on");
    rows.y.values<std::int64_t>()[static_cast<std::size_t>(rows.filled)] = label;
  }

  std::string path_;
  const TableSchema& schema_;
  TableHead head_;
  Records records_;
  Places places_;
  const std::vector<std::string>* fields_ = nullptr;
};

DataSet set_of(Rows rows, const std::string& name, const TableSchema& schema) {
  DataSet set;
  set.name = name;
  set.inputs = {{"x", std::move(rows.x)}};
  set.targets = {{"y", std::move(rows.y)}};
  set.classes = schema.classes;
  set.class_names = schema.names;
  set.feature_names = schema.feature_names();
  return set;
}

void check_classes(const Rows& train, const Rows& test, const TableSchema& schema,
                   const std::string& path, bool is_known) {
  if (schema.kind == TableLabel::real) return;
  if (schema.kind == TableLabel::numbers && !is_known) count_classes(train.y, path);
  check_labels(test.y, schema.classes, path);
}

std::int64_t count_rows(const std::string& path, const TableSchema& schema) {
  const TableHead head = head_for(path, schema);
  tell_repeated(head, path);
  Records records(path);
  std::int64_t rows = -static_cast<std::int64_t>(head.has_header);
  while (records.next() != nullptr) ++rows;
  require<DataError>(rows > 0, path, ": expected rows of numbers and texts, found only a header");
  return rows;
}

Rows read_all(const std::string& path, const TableSchema& schema, std::int64_t count) {
  require_room(path, schema, count);
  Rows rows(count, schema);
  RowReader reader(path, schema, true);
  while (rows.filled < count && reader.next()) reader.take(rows);
  require<DataError>(rows.filled == count, path, ": became shorter while it was read");
  return rows;
}

DataSplit read_file(const std::string& path, const TableOptions& options) {
  const double share = options.test_share;
  const auto is_test = [&](std::int64_t row) { return share < 1 && is_for_test(row, share); };
  std::int64_t count = 0;
  const TableSchema schema =
      options.schema.empty()
          ? survey_table(
                path, options, [&](std::int64_t row) { return !is_test(row); }, count)
          : parse_schema(options.schema);
  if (!options.schema.empty()) count = count_rows(path, schema);
  const std::string name = fs::path(path).stem().string();
  if (share == 1) {
    const Rows rows = read_all(path, schema, count);
    check_classes(rows, rows, schema, path, !options.schema.empty());
    return {set_of(rows, name + "/train", schema), set_of(rows, name + "/test", schema),
            print(schema)};
  }
  const std::int64_t tests = tests_before(count, share);
  require<DataError>(tests >= 1 && tests < count, path, ": expected samples for training and test,",
                     " of which the test gets a share of ", share, ", found ", count);
  require_room(path, schema, count);
  Rows train(count - tests, schema), test(tests, schema);
  RowReader reader(path, schema, true);
  for (std::int64_t row = 0; row < count; ++row) {
    require<DataError>(reader.next(), path, ": became shorter while it was read");
    reader.take(is_test(row) ? test : train);
  }
  check_classes(train, test, schema, path, !options.schema.empty());
  return {set_of(std::move(train), name + "/train", schema),
          set_of(std::move(test), name + "/test", schema), print(schema)};
}

// The file of a part in a folder: train.csv, train.tsv, or one of them gzipped.
std::string part_in(const std::string& folder, const std::string& part) {
  std::error_code ignored;
  for (const char* const end : {".csv", ".tsv", ".csv.gz", ".tsv.gz"}) {
    const fs::path path = fs::path(folder) / (part + end);
    if (fs::exists(path, ignored)) return path.string();
  }
  throw DataError(concat(folder, ": expected ", part, ".csv or ", part, ".tsv, found neither"));
}

DataSplit read_folder(const std::string& folder, const TableOptions& options) {
  const std::string of_train = part_in(folder, "train"), of_test = part_in(folder, "test");
  std::int64_t count = 0;
  const TableSchema schema = options.schema.empty()
                                 ? survey_table(
                                       of_train, options, [](std::int64_t) { return true; }, count)
                                 : parse_schema(options.schema);
  if (!options.schema.empty()) count = count_rows(of_train, schema);
  Rows train = read_all(of_train, schema, count);
  Rows test = read_all(of_test, schema, count_rows(of_test, schema));
  check_classes(train, test, schema, of_test, !options.schema.empty());
  const std::string name = fs::canonical(folder).string();
  return {set_of(std::move(train), name + "/train", schema),
          set_of(std::move(test), name + "/test", schema), print(schema)};
}

}  // namespace

DataSplit read_table(const std::string& path, const TableOptions& options) {
  const FloatingEnvironment environment(Subnormals::keep);
  check_test_share(options.test_share, "table");
  return fs::is_directory(path) ? read_folder(path, options) : read_file(path, options);
}

void check_table(const std::string& schema) { parse_schema(schema); }

DataSet read_rows(const std::string& path, const std::string& text) {
  const FloatingEnvironment environment(Subnormals::keep);
  const TableSchema schema = parse_schema(text);
  const std::int64_t count = count_rows(path, schema);
  require_room(path, schema, count);
  Rows rows(count, schema);
  RowReader reader(path, schema, false);
  while (rows.filled < count && reader.next()) reader.take(rows);
  require<DataError>(rows.filled == count, path, ": became shorter while it was read");
  DataSet set = set_of(std::move(rows), fs::path(path).stem().string(), schema);
  if (!reader.has_label()) set.targets.clear();
  return set;
}

}  // namespace narrowgauge
