// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text/printable.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

constexpr std::size_t gap = 2;  // blanks between columns

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Where the first `width` characters of a text end, in bytes.
std::size_t prefix_of(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (continues_character(text[end])) continue;
    if (width == 0) break;
    --width;
  }
  return end;
}

// Where a line may break, after at most `most` bytes.
std::size_t break_before(std::string_view text, std::size_t most) {
  const std::size_t blank = text.substr(0, most + 1).rfind(' ');
  if (blank != std::string_view::npos && blank > 0) return blank;
  const std::size_t mark = text.substr(0, most).find_last_of(",/.|+");
  if (mark != std::string_view::npos) return mark + 1;
  const std::size_t word = text.substr(0, most + 1).find_last_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  return word == std::string_view::npos || word == 0 ? most : word;  // of a name like AveragePool
}

// The widths of a table's columns, and which of them are shown.
class Layout {
 public:
  Layout(const std::vector<Column>& columns, std::vector<std::size_t> natural, std::size_t limit)
      : columns_(columns), natural_(std::move(natural)), shown_(columns.size(), true) {
    for (;;) {
      widths_ = natural_;
      fold(limit);
      if (total() <= limit || !drop_one()) return;
    }
  }

  bool shows(std::size_t column) const { return shown_[column]; }
  std::size_t width(std::size_t column) const { return widths_[column]; }

  std::size_t total() const { return sum(widths_, false); }
  std::size_t whole() const { return sum(natural_, true); }

 private:
  std::size_t sum(const std::vector<std::size_t>& widths, bool all) const {
    std::size_t result = 0;
    for (std::size_t c = 0; c < widths.size(); ++c)
      if (all || shown_[c]) result += (result ? gap : 0) + widths[c];
    return result;
  }

  // Narrows the widest of the columns that may be folded.
  void fold(std::size_t limit) {
    while (total() > limit) {
      std::size_t widest = columns_.size();
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (!shown_[c] || columns_[c].least == 0 || widths_[c] <= columns_[c].least) continue;
        if (widest == columns_.size() || widths_[c] > widths_[widest]) widest = c;
      }
      if (widest == columns_.size()) return;
      --widths_[widest];
    }
  }

  bool drop_one() {
    std::size_t least = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!shown_[c] || columns_[c].drop == 0) continue;
      if (least == columns_.size() || columns_[c].drop >= columns_[least].drop) least = c;
    }
    if (least == columns_.size()) return false;
    shown_[least] = false;
    return true;
  }

  const std::vector<Column>& columns_;
  std::vector<std::size_t> natural_, widths_;
  std::vector<bool> shown_;
};

std::string without_end_blanks(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

// A row takes as many lines as its most folded cell.
std::string row_text(const std::vector<Column>& columns, const Layout& layout,
                     const std::vector<std::string>& row) {
  constexpr std::size_t indent = 2;
  std::vector<std::vector<std::string>> cells(row.size());
  std::size_t lines = 1;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (!layout.shows(c)) continue;
    cells[c] = {row[c]};
    if (columns[c].least > 0) cells[c] = folded(row[c], layout.width(c), indent);
    lines = std::max(lines, cells[c].size());
  }
  std::string out;
  for (std::size_t i = 0; i < lines; ++i) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!layout.shows(c)) continue;
      const std::string cell = i < cells[c].size() ? cells[c][i] : "";
      const std::string space(layout.width(c) - std::min(layout.width(c), width_of(cell)), ' ');
      if (!line.empty()) line += std::string(gap, ' ');
      line += columns[c].left ? cell + space : space + cell;
    }
    out += without_end_blanks(line);
  }
  return out;
}

std::string omission_text(const std::vector<Column>& columns, const Layout& layout,
                          std::size_t width) {
  std::string names;
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (!layout.shows(c)) names += (names.empty() ? "" : ", ") + columns[c].heading;
  if (names.empty()) return "";
  const std::string text =
      fmt::format("(left out: {}; COLUMNS={} has room for all)", names, layout.whole());
  return folded_lines(text, width) + '\n';
}

// The column for continued lines: where the text begins after a label or far to the right.
std::size_t hanging_indent(std::string_view line) {
  constexpr std::size_t usual = 2, far_right = 8, widest_label = 40;
  const std::size_t first = line.find_first_not_of(' ');
  if (first >= far_right) return first;
  const std::size_t space = line.find("  ", first);
  const std::size_t text =
      space == std::string_view::npos ? space : line.find_first_not_of(' ', space);
  return text != std::string_view::npos && text <= widest_label ? text : first + usual;
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::vector<std::string> folded(std::string_view text, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines;
  if (indent + 1 >= width) indent = 0;
  while (width_of(text) > width - (lines.empty() ? 0 : indent) && width > 0) {
    const std::size_t blanks = lines.empty() ? 0 : indent;
    const std::size_t end = break_before(text, prefix_of(text, width - blanks));
    lines.push_back(std::string(blanks, ' ') + std::string(text.substr(0, end)));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  lines.push_back(std::string(lines.empty() ? 0 : indent, ' ') + std::string(text));
  return lines;
}

std::string folded_lines(std::string_view text, std::size_t width) {
  std::string out;
  for (;;) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t indent = width_of(line) > width ? hanging_indent(line) : 0;
    const std::vector<std::string> lines = folded(line, width, indent < width / 2 ? indent : 0);
    for (std::size_t i = 0; i < lines.size(); ++i) out += (i ? "\n" : "") + lines[i];
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

Column numbers(std::string heading, int drop) { return {std::move(heading), false, drop, 0}; }
Column words(std::string heading, int drop) { return {std::move(heading), true, drop, 0}; }
Column folding(std::string heading, std::size_t least, int drop) {
  return {std::move(heading), true, drop, least};
}

void TextTable::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

std::string TextTable::text(std::size_t width) const {
  std::vector<std::string> heading;
  for (const Column& column : columns_) heading.push_back(column.heading);
  std::vector<std::size_t> natural(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) natural[c] = width_of(heading[c]);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c)
      natural[c] = std::max(natural[c], width_of(row[c]));
  const Layout layout(columns_, std::move(natural), width);
  std::string out = row_text(columns_, layout, heading);
  for (const auto& row : rows_)
    out += row.empty() ? std::string(layout.total(), '-') + '\n' : row_text(columns_, layout, row);
  return out + omission_text(columns_, layout, width);
}

}  // namespace narrowgauge::cli
