// SPDX-License-Identifier: Apache-2.0
#include "io/tables/records.h"

#include <algorithm>
#include <span>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::size_t longest_record = std::size_t{16} << 20;
constexpr std::string_view blanks = " \t\r", byte_order_mark = "\xef\xbb\xbf";

std::string_view trimmed(std::string_view text, std::string_view around = blanks) {
  const std::size_t begin = text.find_first_not_of(around);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(around) + 1 - begin);
}

// The known separator that stands most often outside of quotes.
char separator_of(std::string_view line) {
  constexpr std::string_view known = ",\t;";
  std::vector<std::int64_t> counts(known.size());
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    const std::size_t place = known.find(c);
    if (!quoted && place != std::string_view::npos) ++counts[place];
  }
  return known[static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin())];
}

// Cuts records into fields. A quote counts at the beginning of a field alone.
class Fields {
 public:
  Fields(std::string_view record, char separator) : rest_(record), separator_(separator) {}

  // False where the record ends within quotes, so that it goes on in the next line.
  bool read(std::vector<std::string>& fields) {
    std::size_t count = 0;
    bool more = true;
    while (more) {
      if (count == fields.size()) fields.emplace_back();
      std::string& field = fields[count++];
      field.clear();
      skip_blanks();
      if (rest_.starts_with('"') && !read_quoted(field)) return false;
      const std::size_t end = std::min(rest_.find(separator_), rest_.size());
      field += trimmed(rest_.substr(0, end), around());
      more = end < rest_.size();
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
    }
    fields.resize(count);
    return true;
  }

 private:
  // A tab that separates is no blank.
  std::string_view around() const { return separator_ == '\t' ? " \r" : blanks; }
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(around()), rest_.size()));
  }
  bool read_quoted(std::string& field) {
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] != '"') {
        field += rest_[i];
        continue;
      }
      const bool doubled = i + 1 < rest_.size() && rest_[i + 1] == '"';
      if (!doubled) {
        rest_.remove_prefix(i + 1);
        field = trimmed(field);
        return true;
      }
      field += rest_[i++];
    }
    return false;
  }

  std::string_view rest_;
  char separator_;
};

}  // namespace

Records::Records(const std::string& path) : file_(open_maybe_gzip(path)) {}

std::string Records::where() const { return concat(file_->path(), ", line ", first_line_); }

const std::vector<std::string>* Records::next() {
  std::optional<std::string_view> line = next_line();
  while (line && trimmed(*line).empty()) line = next_line();
  if (!line) return nullptr;
  first_line_ = line_;
  if (separator_ == '\0') separator_ = separator_of(*line);
  if (Fields(*line, separator_).read(fields_)) return &fields_;
  record_ = *line;
  do {
    line = next_line();
    require<DataError>(line && record_.size() + line->size() <= longest_record, where(),
                       ": a quote is not closed");
    record_ += '\n';
    record_ += *line;
    // Where the line has no quote, the field cannot end in it.
  } while (line->find('"') == std::string_view::npos || !Fields(record_, separator_).read(fields_));
  return &fields_;
}

void check_width(const Records& records, const std::vector<std::string>& fields,
                 std::size_t count) {
  if (fields.size() == count) return;
  throw DataError(concat(records.where(), ": expected ", count,
                         " columns as in the first line, found ", fields.size()));
}

std::optional<std::string_view> Records::next_line() {
  std::size_t end = text_.find('\n', at_);
  while (end == std::string::npos) {
    const std::size_t searched = text_.size() - at_;
    if (!refill()) break;
    end = text_.find('\n', at_ + searched);
  }
  if (end == std::string::npos && at_ == text_.size()) return std::nullopt;
  std::string_view line = std::string_view(text_).substr(at_, std::min(end, text_.size()) - at_);
  at_ += line.size() + (end != std::string::npos);
  if (++line_ == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  return line;
}

bool Records::refill() {
  text_.erase(0, at_);
  at_ = 0;
  require<DataError>(text_.size() <= longest_record, file_->path(), ", line ", line_ + 1,
                     ": is longer than ", longest_record, " bytes");
  const std::size_t kept = text_.size();
  text_.resize(kept + (std::size_t{1} << 16));
  const std::size_t got = file_->read(std::as_writable_bytes(std::span(text_)).subspan(kept));
  text_.resize(kept + got);
  return got > 0;
}

}  // namespace narrowgauge
