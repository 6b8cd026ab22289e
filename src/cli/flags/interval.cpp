// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/interval.h"

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

const std::map<std::string_view, double> seconds_of{
    {"s", 1}, {"sec", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"hour", 3600}, {"hours", 3600}};

std::optional<std::int64_t> count(double number) {
  constexpr double most = 1e15;
  if (number < 1 || number > most || number != std::floor(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<Interval> parsed(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number) || number <= 0) return std::nullopt;
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (const auto known = seconds_of.find(unit); known != seconds_of.end())
    return Interval{.seconds = number * known->second};
  const auto whole = count(number);
  if (!whole) return std::nullopt;
  if (unit.empty() || unit == "step" || unit == "steps") return Interval{.steps = *whole};
  if (unit == "epoch" || unit == "epochs") return Interval{.epochs = *whole};
  return std::nullopt;
}

}  // namespace

Interval parse_interval(const char* flag, const std::string& text) {
  const auto interval = parsed(text);
  require(interval.has_value(), flag, ": expected steps (20) or 30s, 5min, 2h, 1epoch, got \"",
          text, '"');
  return *interval;
}

}  // namespace narrowgauge::cli
