// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/shape_flag.h"

#include <algorithm>
#include <charconv>

namespace narrowgauge::cli {

Assignment parse_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || text.find('/') < equals) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::optional<Dims> dims_of(const std::string& text) {
  Dims dims;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const std::string number = text.substr(begin, end - begin);
    const bool whole = !number.empty() && number.size() < 10 &&
                       number.find_first_not_of("0123456789") == number.npos;
    if (!whole) return {};
    dims.push_back(std::stoll(number));
    begin = end + 1;
  }
  return dims;
}

Dims parse_dims(const std::string& flag, const std::string& text) {
  const std::optional<Dims> dims = dims_of(text);
  require(dims.has_value(), flag, ": expected sizes such as 1x3x224x224, got \"", text, '"');
  return *dims;
}

std::vector<double> parse_numbers(const std::string& flag, const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    double number = 0;
    const auto [at, error] = std::from_chars(text.data() + begin, text.data() + end, number);
    require(error == std::errc() && at == text.data() + end, flag,
            ": expected numbers with commas, got \"", text, '"');
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

std::vector<float> parse_floats(const std::string& flag, const std::string& text) {
  const std::vector<double> numbers = parse_numbers(flag, text);
  return {numbers.begin(), numbers.end()};
}

void add_value_flag(CLI::App& app, KnownInputFlags& flags) {
  add_texts(app,
            {"--value", "NAME=NUMBER",
             "an input of the file that is always this, such as sr=16000, or numbers with commas"},
            flags.values);
}

void add_known_inputs(CLI::App& app, KnownInputFlags& flags) {
  add_texts(app, {"--shape", "NAME=DIMS", "of an input of a file, such as x=1x3x224x224"},
            flags.shapes);
  add_value_flag(app, flags);
}

namespace {

Assignment named_assignment(const std::string& flag, const std::string& form,
                            const std::string& text) {
  Assignment assignment = parse_assignment(text);
  require(!assignment.name.empty(), flag, ": expected ", form, ", got \"", text, '"');
  return assignment;
}

}  // namespace

KnownInputs known_inputs(const KnownInputFlags& flags) {
  KnownInputs known;
  for (const std::string& text : flags.shapes) {
    const auto [name, sizes] =
        named_assignment("--shape", "NAME=DIMS, such as x=1x3x224x224", text);
    known.sizes[name] = parse_dims("--shape", sizes);
  }
  for (const std::string& text : flags.values) {
    const auto [name, list] = named_assignment("--value", "NAME=NUMBER, such as sr=16000", text);
    const std::vector<double> numbers = parse_numbers("--value", list);
    const bool single = numbers.size() == 1;
    known.values[name] = Tensor::from<double>(single ? Dims{} : Dims{std::ssize(numbers)}, numbers);
  }
  return known;
}

}  // namespace narrowgauge::cli
