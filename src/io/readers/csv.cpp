// SPDX-License-Identifier: Apache-2.0
// Comma-separated values: a line for each sample, numbers but for the label. A first line with a
// field that is no number is the header. The label is the column that it calls label, class, target
// or y, else the last. Of a single file a share of the samples, spread evenly, is for the test; a
// folder has train.csv and test.csv. A file is read twice, first to count its lines: only the
// numbers stay in memory.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/memory.h"
#include "io/input_file.h"
#include "io/readers/labels.h"
#include "io/readers/reader.h"

namespace narrowgauge {
namespace {

constexpr std::size_t longest_line = std::size_t{16} << 20;

// The lines of a file that are not blank.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(open_maybe_gzip(path)) {}

  // The next line, without its end; nothing at the end of the file.
  std::optional<std::string_view> next() {
    while (true) {
      const std::size_t end = text_.find('\n', at_);
      if (end == std::string::npos && refill()) continue;
      if (end == std::string::npos && at_ == text_.size()) return std::nullopt;
      std::string_view line =
          std::string_view(text_).substr(at_, std::min(end, text_.size()) - at_);
      at_ += line.size() + (end != std::string::npos);
      if (++number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
      if (line.find_first_not_of(" \t\r") != std::string_view::npos) return line;
    }
  }
  std::int64_t number() const { return number_; }
  std::string where() const { return concat(file_->path(), ", line ", number_); }

 private:
  bool refill() {
    text_.erase(0, at_);
    at_ = 0;
    require<DataError>(text_.size() <= longest_line, file_->path(), ", line ", number_ + 1,
                       ": is longer than ", longest_line, " bytes");
    const std::size_t kept = text_.size();
    text_.resize(kept + (std::size_t{1} << 16));
    const std::size_t got = file_->read(std::as_writable_bytes(std::span(text_)).subspan(kept));
    text_.resize(kept + got);
    return got > 0;
  }

  std::unique_ptr<InputFile> file_;
  std::string text_;  // read, and not yet given from `at_` on
  std::size_t at_ = 0;
  std::int64_t number_ = 0;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// The fields of a line without blanks around them and without the quotes of quoted ones.
void split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (line[i] != ',' || quoted)) continue;
    std::string_view field = trimmed(line.substr(begin, i - begin));
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"')
      field = trimmed(field.substr(1, field.size() - 2));
    fields.push_back(field);
    begin = i + 1;
  }
}

template <class T>
std::optional<T> parse(std::string_view field) {
  T value{};
  if (field.starts_with('+')) field.remove_prefix(1);
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value;
}

bool is_label_name(std::string_view field) {
  constexpr std::array<std::string_view, 4> names{"label", "class", "target", "y"};
  std::string lower(field);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(names, lower) != names.end();
}

// What a file holds, known before its numbers are read.
struct Table {
  std::string path;
  bool has_header = false;
  std::size_t columns = 0, label = 0;
  std::int64_t samples = 0;
};

Table survey(const std::string& path) {
  Table table{.path = path};
  Lines lines(path);
  const auto first = lines.next();
  require<DataError>(first.has_value(), path, ": expected lines of numbers, found none");
  std::vector<std::string_view> fields;
  split(*first, fields);
  table.has_header =
      std::ranges::any_of(fields, [](std::string_view f) { return !parse<double>(f); });
  table.columns = fields.size();
  require<DataError>(table.columns >= 2, lines.where(),
                     ": expected columns of numbers and a label with commas between them, found ",
                     table.columns, " column");
  const auto named = std::ranges::find_if(fields, is_label_name);
  table.label = table.has_header && named != fields.end()
                    ? static_cast<std::size_t>(named - fields.begin())
                    : table.columns - 1;
  table.samples = !table.has_header;
  while (lines.next()) ++table.samples;
  require<DataError>(table.samples >= 1, path, ": expected lines of numbers, found only a header");
  return table;
}

// Rows of a set as they are read.
struct Rows {
  Tensor x, y;
  std::int64_t filled = 0;

  Rows(std::int64_t count, std::size_t features)
      : x(DType::f32, {count, static_cast<std::int64_t>(features)}), y(DType::i64, {count}) {}
};

void read_row(const std::vector<std::string_view>& fields, const Table& table,
              const std::string& where, Rows& rows) {
  auto x =
      rows.x.values<float>().begin() + rows.filled * static_cast<std::int64_t>(table.columns - 1);
  for (std::size_t c = 0; c < fields.size(); ++c) {
    const std::string_view field = fields[c];
    if (c == table.label) {
      const auto label = parse<std::int64_t>(field);
      require<DataError>(label && *label >= 0, where, ", column ", c + 1,
                         ": expected a class as a whole number from 0 on, found '", field, '\'');
      rows.y.values<std::int64_t>().data()[rows.filled] = *label;
      continue;
    }
    const auto number = parse<float>(field);
    require<DataError>(number && std::isfinite(*number), where, ", column ", c + 1,
                       ": expected a number that f32 holds, found '", field, '\'');
    *x++ = *number;
  }
  ++rows.filled;
}

// Reads the samples in turn; `choose` says for each in which rows it belongs.
template <class Choose>
void read_rows(const Table& table, const Choose& choose) {
  Lines lines(table.path);
  if (table.has_header) lines.next();
  std::vector<std::string_view> fields;
  for (std::int64_t sample = 0; sample < table.samples; ++sample) {
    const auto line = lines.next();
    require<DataError>(line.has_value(), table.path, ": became shorter while it was read");
    split(*line, fields);
    require<DataError>(fields.size() == table.columns, lines.where(), ": expected ", table.columns,
                       " columns as in the first line, found ", fields.size());
    read_row(fields, table, lines.where(), choose(sample));
  }
}

void require_room(const Table& table) {
  const auto bytes = table.samples * static_cast<std::int64_t>(4 * table.columns + 4);
  require_memory({table.path, {{"samples", bytes}}});
}

DataSet set_of(Rows rows, const std::string& path, std::string_view part, std::int64_t classes) {
  return {concat(std::filesystem::path(path).stem().string(), '/', part),
          {{"x", std::move(rows.x)}},
          {{"y", std::move(rows.y)}},
          classes};
}

Rows read_part(const Table& table) {
  require_room(table);
  Rows rows(table.samples, table.columns - 1);
  read_rows(table, [&](std::int64_t) -> Rows& { return rows; });
  return rows;
}

// All samples in both parts.
DataSplit whole_file(const Table& table) {
  Rows rows = read_part(table);
  const std::int64_t classes = count_classes(rows.y, table.path);
  return {set_of(rows, table.path, "train", classes),
          set_of(std::move(rows), table.path, "test", classes)};
}

DataSplit read_file(const std::string& path, double test_share) {
  const Table table = survey(path);
  require_room(table);
  const auto tests_before = [&](std::int64_t sample) {
    return static_cast<std::int64_t>(static_cast<double>(sample) * test_share);
  };
  if (test_share == 1) return whole_file(table);
  const std::int64_t tests = tests_before(table.samples);
  require<DataError>(tests >= 1 && tests < table.samples, path, ": expected samples for training ",
                     "and test, of which the test gets a share of ", test_share, ", found ",
                     table.samples);
  Rows train(table.samples - tests, table.columns - 1), test(tests, table.columns - 1);
  read_rows(table, [&](std::int64_t sample) -> Rows& {
    return tests_before(sample + 1) > tests_before(sample) ? test : train;
  });
  const std::int64_t classes = count_classes(train.y, path);
  check_labels(test.y, classes, path);
  return {set_of(std::move(train), path, "train", classes),
          set_of(std::move(test), path, "test", classes)};
}

std::string path_of(const std::string& folder, const std::string& file) {
  const std::string path = (std::filesystem::path(folder) / file).string();
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? path : path + ".gz";
}

DataSplit read_folder(const std::string& folder) {
  const Table of_train = survey(path_of(folder, "train.csv"));
  const Table of_test = survey(path_of(folder, "test.csv"));
  require<DataError>(of_test.columns == of_train.columns, of_test.path, ": expected ",
                     of_train.columns, " columns as in ", of_train.path, ", found ",
                     of_test.columns);
  Rows train = read_part(of_train), test = read_part(of_test);
  const std::int64_t classes = count_classes(train.y, of_train.path);
  check_labels(test.y, classes, of_test.path);
  const std::string name = std::filesystem::canonical(folder).string();
  return {set_of(std::move(train), name, "train", classes),
          set_of(std::move(test), name, "test", classes)};
}

bool takes(const DataPlace& place) {
  if (place.is_folder) return place.holds("train.csv") && place.holds("test.csv");
  if (!place.is_file) return false;
  if (place.name.ends_with(".csv") || place.name.ends_with(".csv.gz")) return true;
  const std::string_view line = std::string_view(place.head).substr(0, place.head.find('\n'));
  return line.find(',') != std::string_view::npos && std::ranges::all_of(line, [](unsigned char c) {
           return c >= ' ' || c == '\t' || c == '\r';
         });
}

Data read(const std::string& name, const DataOptions& options) {
  return std::filesystem::is_directory(name) ? read_folder(name)
                                             : read_file(name, options.test_share);
}

}  // namespace
}  // namespace narrowgauge

NG_READER(csv, "csv", "a CSV file (or a folder with train.csv and test.csv)", takes, read)
