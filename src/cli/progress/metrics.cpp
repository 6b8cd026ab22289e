// SPDX-License-Identifier: Apache-2.0
#include "cli/progress/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/flags/described.h"
#include "cli/flags/flags.h"
#include "train/metrics/metric.h"

namespace narrowgauge::cli {
namespace {

constexpr std::int64_t most_classes = 12;  // in a table
constexpr std::size_t most_pairs = 10;

std::string value_text(double value, bool is_share) {
  if (std::isnan(value)) return "-";
  return is_share ? percent_text(value) : number_text(value);
}

// A row for each label, a column for each prediction.
std::string whole_table(const ConfusionMatrix& matrix) {
  const bool some_not_finite =
      std::ranges::any_of(matrix.not_finite, [](std::int64_t count) { return count > 0; });
  std::vector<Column> columns{words("label")};
  for (std::int64_t c = 0; c < matrix.classes; ++c) columns.push_back(numbers(std::to_string(c)));
  if (some_not_finite) columns.push_back(numbers("not finite"));
  TextTable table(std::move(columns));
  for (std::int64_t label = 0; label < matrix.classes; ++label) {
    std::vector<std::string> row{std::to_string(label)};
    for (std::int64_t c = 0; c < matrix.classes; ++c) row.push_back(grouped(matrix.at(label, c)));
    if (some_not_finite) row.push_back(grouped(matrix.not_finite[static_cast<std::size_t>(label)]));
    table.add(std::move(row));
  }
  return table.text(std::string::npos);
}

// The classes that are most often taken for others.
std::string pair_table(const ConfusionMatrix& matrix) {
  const std::vector<ConfusedPair> pairs = most_confused(matrix);
  const std::size_t shown = std::min(pairs.size(), most_pairs);
  TextTable table({numbers("label"), numbers("taken for"), numbers("times"), numbers("of")});
  for (std::size_t i = 0; i < shown; ++i) {
    table.add({std::to_string(pairs[i].label), std::to_string(pairs[i].predicted),
               grouped(pairs[i].count), grouped(labels_of(matrix, pairs[i].label))});
  }
  if (pairs.size() > shown)
    return table.text(output_width()) +
           fmt::format("({} more pairs; --json has all)\n", pairs.size() - shown);
  return table.text(output_width());
}

}  // namespace

std::vector<ConfusedPair> most_confused(const ConfusionMatrix& matrix) {
  std::vector<ConfusedPair> pairs;
  for (std::int64_t label = 0; label < matrix.classes; ++label)
    for (std::int64_t c = 0; c < matrix.classes; ++c)
      if (c != label && matrix.at(label, c) > 0) pairs.push_back({label, c, matrix.at(label, c)});
  std::ranges::stable_sort(pairs, std::greater{}, &ConfusedPair::count);
  return pairs;
}

std::int64_t labels_of(const ConfusionMatrix& matrix, std::int64_t label) {
  std::int64_t count = matrix.not_finite[static_cast<std::size_t>(label)];
  for (std::int64_t c = 0; c < matrix.classes; ++c) count += matrix.at(label, c);
  return count;
}

std::string confusion_text(const ConfusionMatrix& matrix) {
  if (matrix.classes == 0) return "";
  if (matrix.classes > most_classes) return "most confused classes\n" + pair_table(matrix);
  const std::string table = whole_table(matrix);
  const bool fits = width_of(table.substr(0, table.find('\n'))) <= output_width();
  if (!fits) return "most confused classes\n" + pair_table(matrix);
  return "labels in rows, predictions in columns\n" + table;
}

namespace {

// The words that name metrics: each of a record of several, "mse, mae", and one for "top<k>".
std::vector<std::string> metric_words() {
  std::vector<std::string> words;
  for (const Metric* metric : metrics()) {
    std::istringstream names{std::string(metric->name)};
    for (std::string name; std::getline(names >> std::ws, name, ',');)
      words.push_back(name.ends_with("<k>") ? name.substr(0, name.size() - 3) + '5' : name);
  }
  return words;
}

}  // namespace

Flag metrics_flag() {
  return {"--metrics", "M,..", "of the test, also; " + described(metrics()), metric_words()};
}

void add_metrics(CLI::App& app, std::vector<std::string>& target) {
  add_list(app, metrics_flag(), target);
}

std::string metric_text(const MetricValue& metric) {
  return value_text(metric.value, metric.is_share);
}

void print_metrics(const Evaluation& evaluation) {
  for (const MetricValue& metric : evaluation.metrics) {
    print(fmt::format("test {:<11}{}\n", metric.name + ' ', metric_text(metric)));
    if (!metric.by_class.empty()) {
      TextTable table({numbers("class"), numbers(metric.name.substr(0, metric.name.find('_')))});
      for (std::size_t c = 0; c < metric.by_class.size(); ++c)
        table.add({std::to_string(c), value_text(metric.by_class[c], metric.is_share)});
      print(table.text(output_width()));
    }
    print(confusion_text(metric.confusion));
  }
}

void add_metrics(JsonObject& json, const Evaluation& evaluation) {
  for (const MetricValue& metric : evaluation.metrics) {
    json.add("test_" + metric.name, metric.value);
    if (!metric.by_class.empty()) json.add("test_" + metric.name + "_values", metric.by_class);
    if (metric.confusion.classes == 0) continue;
    const auto as_numbers = [](const std::vector<std::int64_t>& counts) {
      return std::vector<double>(counts.begin(), counts.end());
    };
    JsonObject matrix;
    matrix.add("classes", metric.confusion.classes);
    matrix.add("counts", as_numbers(metric.confusion.counts));
    json.add("test_" + metric.name + "_matrix",
             matrix.add("not_finite", as_numbers(metric.confusion.not_finite)));
  }
}

}  // namespace narrowgauge::cli
