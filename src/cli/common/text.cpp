// SPDX-License-Identifier: Apache-2.0
#include "cli/common/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/files/memory.h"
#include "base/text/printable.h"

namespace narrowgauge::cli {

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

std::string percent_text(double share) { return fmt::format("{:.2f} %", printable(100 * share)); }
std::string points_text(double share) { return fmt::format("{:+.2f}", printable(100 * share)); }
std::string number_text(double value) { return fmt::format("{:.6g}", printable(value)); }

namespace {

std::string joined(std::span<const std::string> words, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? last : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace

std::string choices(std::span<const std::string> words, std::string_view usual) {
  std::vector<std::string> told(words.begin(), words.end());
  for (std::string& word : told)
    if (word == usual) word += " (default)";
  return joined(told, " or ");
}

std::string listed(std::span<const std::string> words) { return joined(words, " and "); }

}  // namespace narrowgauge::cli
