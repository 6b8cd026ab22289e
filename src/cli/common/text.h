// SPDX-License-Identifier: Apache-2.0
// Numbers, durations and tables as people read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace narrowgauge::cli {

std::string grouped(std::int64_t value);     // "1,234,567"
std::string bytes_text(std::int64_t bytes);  // "12.3 MiB"
std::string rate_text(double per_second);    // "12,345", "9.87"
std::string seconds_text(double seconds);    // "4.2 s", "1:05", "2:03:04"
std::string percent_text(double share);      // "99.35 %" of 0.9935
std::string points_text(double share);       // "+0.05" percentage points of 0.0005
std::string number_text(double value);       // six significant digits at most

// Characters on the screen: bytes of UTF-8 except those that continue a character.
std::size_t width_of(std::string_view text);
// Breaks text into lines of at most `width` characters, at blanks, after commas and in paths, else
// anywhere; lines after the first begin with `indent` blanks.
std::vector<std::string> folded(std::string_view text, std::size_t width, std::size_t indent = 0);
// Folds each line of a text. What follows a label and two blanks, or begins far to the right, stays
// in its column.
std::string folded_lines(std::string_view text, std::size_t width);

// A column of a table, and what may be done with it if the table is too wide.
struct Column {
  std::string heading;
  bool left = false;      // its cells stand to the left
  int drop = 0;           // above 0: may be left out, the highest first
  std::size_t least = 0;  // above 0: may be folded into lines of so many characters
};
Column numbers(std::string heading, int drop = 0);
Column words(std::string heading, int drop = 0);
Column folding(std::string heading, std::size_t least, int drop = 0);

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> row);
  void add_line() { rows_.emplace_back(); }
  // The table in lines of at most `width` characters; the last one then names the omitted columns.
  std::string text(std::size_t width) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "a, b or c"; with the usual one "a, b (default) or c".
std::string choices(std::span<const std::string> words, std::string_view usual = {});
// "a, b and c"
std::string listed(std::span<const std::string> words);

}  // namespace narrowgauge::cli
