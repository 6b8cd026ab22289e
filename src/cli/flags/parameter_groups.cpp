// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/parameter_groups.h"

#include <charconv>
#include <string_view>

#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

double number_of(std::string_view setting, std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  require(error == std::errc{} && parsed == end && !text.empty() && number >= 0 && number <= 1e30,
          "--group: expected a number from 0 to 1e30 as ", setting, ", got \"", text, '"');
  return number;
}

void take_setting(ParameterGroup& group, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  const bool valued = equals != std::string_view::npos;
  if (name == "frozen" && !valued) {
    group.frozen = true;
    return;
  }
  require(valued && (name == "rate" || name == "weight_decay"),
          "--group: expected rate=X, weight_decay=X or frozen, got \"", trimmed(text), '"');
  const double number = number_of(name, trimmed(text.substr(equals + 1)));
  if (name == "rate")
    group.rate = number;
  else
    group.weight_decay = number;
}

}  // namespace

ParameterGroup parse_group(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  require(colon != std::string::npos && !trimmed(text.substr(0, colon)).empty(),
          "--group: expected PATTERN: rate=X, weight_decay=X, frozen, got \"", text, '"');
  ParameterGroup group{.pattern = std::string(trimmed(text.substr(0, colon)))};
  std::string_view rest = std::string_view(text).substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    take_setting(group, rest.substr(0, comma));
    if (comma == std::string_view::npos) return group;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace narrowgauge::cli
