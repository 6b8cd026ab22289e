// SPDX-License-Identifier: Apache-2.0
#include "cli/predict/number_predictions.h"

#include <fmt/format.h>

#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::cli {
namespace {

std::string sample_text(const Predictions& predictions, const Guess& guess) {
  return predictions.files.empty() ? grouped(guess.sample)
                                   : predictions.files[static_cast<std::size_t>(guess.index)];
}

bool have_targets(const Predictions& predictions) { return predictions.targets.size() > 0; }

std::int64_t predicted_width(const Predictions& predictions) {
  return predictions.outputs.size() / predictions.outputs.dims().front();
}

// "predicted", or "predicted 1", "predicted 2" of several.
std::vector<std::string> number_names(const Predictions& predictions, const std::string& what,
                                      const char* between) {
  const std::int64_t width = predicted_width(predictions);
  if (width == 1) return {what};
  std::vector<std::string> names;
  for (std::int64_t c = 1; c <= width; ++c) names.push_back(concat(what, between, c));
  return names;
}

// Predicted numbers of a sample, then its targets where they are known.
std::vector<double> numbers_of(const Predictions& predictions, std::int64_t index) {
  const std::int64_t width = predicted_width(predictions);
  std::vector<double> found;
  for (std::int64_t c = 0; c < width; ++c)
    found.push_back(predictions.outputs.at(index * width + c));
  if (!have_targets(predictions)) return found;
  for (std::int64_t c = 0; c < width; ++c)
    found.push_back(predictions.targets.at(index * width + c));
  return found;
}

std::vector<std::string> number_columns(const Predictions& predictions, const char* between) {
  std::vector<std::string> names = number_names(predictions, "predicted", between);
  if (have_targets(predictions))
    for (std::string& name : number_names(predictions, "target", between))
      names.push_back(std::move(name));
  return names;
}

void print_number_lines(const Predictions& predictions) {
  const auto width = static_cast<std::ptrdiff_t>(predicted_width(predictions));
  for (const Guess& guess : predictions.guesses) {
    const std::vector<double> all = numbers_of(predictions, guess.index);
    JsonObject line;
    if (!predictions.files.empty()) line.add("file", sample_text(predictions, guess));
    line.add("sample", guess.sample)
        .add("predicted", std::vector<double>(all.begin(), all.begin() + width));
    if (have_targets(predictions))
      line.add("target", std::vector<double>(all.begin() + width, all.end()));
    print(line.line());
  }
}

void print_number_table(const Predictions& predictions) {
  constexpr std::size_t least = 16;
  std::vector<Column> columns{predictions.files.empty() ? numbers("sample")
                                                        : folding("file", least)};
  for (const std::string& name : number_columns(predictions, " ")) columns.push_back(numbers(name));
  TextTable table(std::move(columns));
  for (const Guess& guess : predictions.guesses) {
    std::vector<std::string> row{sample_text(predictions, guess)};
    for (const double number : numbers_of(predictions, guess.index))
      row.push_back(number_text(number));
    table.add(std::move(row));
  }
  print(table.text(output_width()));
}

}  // namespace

std::string csv_of_numbers(const Predictions& predictions) {
  std::string text = predictions.files.empty() ? "sample" : "file";
  for (const std::string& name : number_columns(predictions, "_")) text += ',' + name;
  text += '\n';
  for (const Guess& guess : predictions.guesses) {
    text += predictions.files.empty() ? std::to_string(guess.sample)
                                      : csv_field(sample_text(predictions, guess));
    for (const double number : numbers_of(predictions, guess.index))
      text += fmt::format(",{:.9g}", number);
    text += '\n';
  }
  return text;
}

void save_number_arrays(const std::string& path, const Predictions& predictions) {
  std::vector<NamedTensor> arrays{{"outputs", predictions.outputs}};
  if (have_targets(predictions)) arrays.push_back({"targets", predictions.targets});
  arrays.push_back({"samples", predictions.samples()});
  write_npz(path, arrays);
}

void print_numbers(const Predictions& predictions, bool json) {
  json ? print_number_lines(predictions) : print_number_table(predictions);
}

}  // namespace narrowgauge::cli
