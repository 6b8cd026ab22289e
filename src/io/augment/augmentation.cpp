// SPDX-License-Identifier: Apache-2.0
#include "io/augment/augmentation.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/text/nearest.h"
#include "narrowgauge/error.h"
#include "narrowgauge/images.h"

namespace narrowgauge {

double Draws::uniform(double low, double high) {
  return low + (high - low) * static_cast<double>(stream_.uniform(next_++));
}

std::int64_t Draws::whole(std::int64_t count) {
  const auto drawn = static_cast<std::int64_t>(uniform(0, static_cast<double>(count)));
  return std::min(drawn, count - 1);
}

// Box and Muller, of draws of its own: the stream's normal numbers are made of its uniform ones.
double Draws::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
  return radius * std::cos(2 * std::numbers::pi * uniform(0, 1));
}

double Draws::gamma(double shape) {
  if (shape < 1) {
    const double u = 1 - uniform(0, 1);
    return gamma(shape + 1) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  constexpr int most_tries = 100;  // each succeeds with a chance above 0.95
  for (int i = 0; i < most_tries; ++i) {
    const double x = normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - uniform(0, 1)) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
  }
  return d;
}

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// The parts of a text between commas that stand outside of parentheses.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

std::unique_ptr<Augmentation> make_one(std::string_view text) {
  const std::size_t open = std::min(text.find('('), text.size());
  const std::string_view name = trimmed(text.substr(0, open));
  const AugmentationRule* const rule = find_record(augmentations(), name);
  require(rule != nullptr, "augment: unknown change '", name, "', expected ",
          listed_names(augmentations()), suggestion(std::string(name), names_of(augmentations())));
  AugmentArguments arguments(name, text.substr(open));
  std::unique_ptr<Augmentation> made = rule->make(arguments);
  arguments.require_all_taken();
  return made;
}

}  // namespace

AugmentArguments::AugmentArguments(std::string_view name, std::string_view text)
    : who_(concat("augment: ", name)) {
  if (text.empty()) return;
  require(text.starts_with('(') && text.ends_with(')') && text.size() >= 2, who_,
          ": expected numbers in parentheses, got '", text, '\'');
  for (std::string_view part : parts_of(text.substr(1, text.size() - 2))) {
    Given given;
    if (const std::size_t sign = part.find('='); sign != std::string_view::npos) {
      given.name = trimmed(part.substr(0, sign));
      part = trimmed(part.substr(sign + 1));
    }
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), given.value);
    require(error == std::errc{} && end == part.data() + part.size() && std::isfinite(given.value),
            who_, ": expected a number, got '", part, '\'');
    given_.push_back(std::move(given));
  }
}

double AugmentArguments::number(std::string_view name, double usual, double low, double high) {
  const std::size_t place = asked_++;
  double value = usual;
  bool found = false;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].name.empty() ? i != place : given_[i].name != name) continue;
    require(!found, who_, ": '", name, "' is given twice");
    value = given_[i].value;
    given_[i].taken = found = true;
  }
  require(value >= low && value <= high, who_, ": expected '", name, "' from ", low, " to ", high,
          ", got ", value);
  return value;
}

void AugmentArguments::require_all_taken() const {
  for (const Given& given : given_)
    require(given.taken, who_, ": takes no ",
            given.name.empty() ? concat("further number ", given.value) : given.name);
}

std::vector<std::unique_ptr<Augmentation>> parse_augmentations(std::string_view text) {
  std::vector<std::unique_ptr<Augmentation>> all;
  if (trimmed(text).empty()) return all;
  for (const std::string_view part : parts_of(text)) all.push_back(make_one(part));
  return all;
}

void check_augmentations(std::string_view text) { parse_augmentations(text); }

std::string augmentation_help() {
  std::string text;
  for (const AugmentationRule* rule : augmentations())
    text += concat(text.empty() ? "" : ", ", rule->name, rule->arguments, ' ', rule->help);
  return text;
}

}  // namespace narrowgauge
