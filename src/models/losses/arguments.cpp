// SPDX-License-Identifier: Apache-2.0
#include "models/losses/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' '; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The text without its first and last character, which must be these.
bool unwrap(std::string_view& text, char first, char last) {
  if (text.size() < 2 || text.front() != first || text.back() != last) return false;
  text = text.substr(1, text.size() - 2);
  return true;
}

// What stands between commas outside of brackets.
std::vector<std::string_view> pieces(std::string_view text) {
  std::vector<std::string_view> all;
  std::size_t begin = 0;
  for (std::size_t i = 0, depth = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']' && depth > 0) --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    all.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return all;
}

double parse_number(std::string_view loss, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc() && end == text.data() + text.size() && std::isfinite(number),
          "loss ", loss, ": expected a number, got '", text, '\'');
  return number;
}

}  // namespace

LossArguments::LossArguments(std::string_view loss, std::string_view text) : loss_(loss) {
  if (text.empty()) return;
  std::string_view inside = text;
  require(unwrap(inside, '(', ')'), "loss ", loss_, ": expected (name=number, ...), got '", text,
          '\'');
  if (trimmed(inside).empty()) return;
  for (const std::string_view argument : pieces(inside)) read(argument);
}

void LossArguments::read(std::string_view argument) {
  const std::size_t sign = argument.find('=');
  require(sign != std::string_view::npos, "loss ", loss_, ": expected name=number, got '", argument,
          '\'');
  const std::string name(trimmed(argument.substr(0, sign)));
  require(!given_.contains(name), "loss ", loss_, ": ", name, " is given twice");
  std::string_view value = trimmed(argument.substr(sign + 1));
  std::vector<double>& numbers = given_[name];
  const bool is_list = unwrap(value, '[', ']');
  if (!is_list)
    numbers.push_back(parse_number(loss_, value));
  else
    for (const std::string_view each : pieces(value)) numbers.push_back(parse_number(loss_, each));
}

double LossArguments::number(const std::string& name, double usual) {
  const std::vector<double> found = numbers(name);
  require(found.size() <= 1, "loss ", loss_, ": expected one number for ", name, ", got ",
          found.size());
  return found.empty() ? usual : found[0];
}

std::vector<double> LossArguments::numbers(const std::string& name) {
  known_.push_back(name);
  const auto found = given_.find(name);
  return found == given_.end() ? std::vector<double>{} : found->second;
}

void LossArguments::require_all_taken() const {
  std::string listed;
  for (const std::string& name : known_) listed += (listed.empty() ? "" : ", ") + name;
  for (const auto& [name, numbers] : given_)
    require(std::ranges::find(known_, name) != known_.end(), "loss ", loss_,
            listed.empty() ? ": expected no parameters" : ": expected parameters " + listed,
            ", got '", name, '\'');
}

}  // namespace narrowgauge
