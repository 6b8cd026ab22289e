// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/memory.h"
#include "base/printable.h"

namespace narrowgauge::cli {
namespace {

// Characters on the screen: bytes of UTF-8 but for those that continue one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t changed = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({changed, row[k] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string bytes_text(std::int64_t bytes) { return narrowgauge::bytes_text(bytes); }

std::string rate_text(double per_second) {
  if (!std::isfinite(per_second)) return "-";
  if (per_second >= 100) return grouped(std::llround(per_second));
  return fmt::format("{:.{}f}", per_second, per_second >= 10 ? 1 : 2);
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string percent_text(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string points_text(double share) { return fmt::format("{:+.2f}", 100 * share); }
std::string number_text(double value) { return fmt::format("{:.6g}", value); }

TextTable::TextTable(std::vector<std::string> heading, std::vector<std::size_t> left)
    : left_(std::move(left)) {
  rows_.push_back(std::move(heading));
}

void TextTable::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

bool TextTable::is_left(std::size_t column) const {
  return column == 0 || std::find(left_.begin(), left_.end(), column) != left_.end();
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  const std::size_t total = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
  std::string out;
  for (const auto& row : rows_) {
    std::string line = row.empty() ? std::string(total, '-') : "";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width_of(row[c]), ' ');
      line += (c ? "  " : "") + (is_left(c) ? row[c] + space : space + row[c]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

std::string suggestion(std::string_view word, std::span<const std::string> words) {
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::string_view found;
  for (const std::string& candidate : words) {
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t distance = begins ? 1 : edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found.empty() ? "" : fmt::format("; did you mean {}?", found);
}

std::string choices(std::span<const std::string> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace narrowgauge::cli
