// SPDX-License-Identifier: Apache-2.0
// Numbers, durations and tables as people read them, and guesses at what a mistyped word meant.
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

// The first column and those in `left` stand to the left, the others to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heading, std::vector<std::size_t> left = {});
  void add(std::vector<std::string> row);
  void add_line() { rows_.emplace_back(); }
  std::string text() const;

 private:
  bool is_left(std::size_t column) const;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> left_;
};

// "; did you mean lenet?" when one of the words is close to `word`, else "".
std::string suggestion(std::string_view word, std::span<const std::string> words);
// "a, b or c"
std::string choices(std::span<const std::string> words);

}  // namespace narrowgauge::cli
