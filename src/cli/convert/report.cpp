// SPDX-License-Identifier: Apache-2.0
#include "cli/convert/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/common/terminal.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {

namespace {

constexpr std::size_t most_listed = 5;  // ops in a table

std::int64_t ops_in(const ConversionReport& report, std::string_view precision) {
  return std::ranges::count(report.ops, precision, &ConvertedOp::precision);
}

std::string accuracy_table(const ConversionReport& report) {
  const EngineAccuracy &before = report.before, &after = report.after;
  TextTable table(
      {words(""), numbers("f32"), numbers(std::string(name(report.precision))), words("", 1)});
  if (before.accuracy && after.accuracy)
    table.add({"accuracy", percent_text(*before.accuracy), percent_text(*after.accuracy),
               points_text(*after.accuracy - *before.accuracy) + " points"});
  if (report.validation_samples > 0) {
    table.add({"same class", "", percent_text(after.agreement), ""});
    table.add({"error of the output", "", percent_text(after.error), "root of mean squares"});
  }
  if (report.bytes_after > 0)
    table.add({"weights", bytes_text(report.bytes_before), bytes_text(report.bytes_after),
               fmt::format("{:.1f} times smaller", static_cast<double>(report.bytes_before) /
                                                       static_cast<double>(report.bytes_after))});
  if (report.milliseconds_before > 0)
    table.add({"ms a sample", number_text(report.milliseconds_before),
               number_text(report.milliseconds_after),
               fmt::format("{:.2f} times as fast",
                           report.milliseconds_before / report.milliseconds_after)});
  return table.text(output_width());
}

std::string sensitive_table(const ConversionReport& report) {
  std::vector<ConvertedOp> ops;
  std::ranges::copy_if(report.ops, std::back_inserter(ops),
                       [](const ConvertedOp& op) { return op.sensitivity.has_value(); });
  if (ops.empty()) return "";
  std::ranges::stable_sort(ops, std::greater{},
                           [](const ConvertedOp& op) { return *op.sensitivity; });
  ops.resize(std::min(ops.size(), most_listed));
  TextTable table({words("most sensitive"), words("op"), numbers("error alone"),
                   words("computes in"), folding("because", 24, 1)});
  for (const ConvertedOp& op : ops)
    table.add({op.name, op.op, percent_text(*op.sensitivity), op.precision, op.why});
  return '\n' + table.text(output_width());
}

// What does not compute in the format of the engine, beside what the table above tells.
std::string wider_table(const ConversionReport& report) {
  TextTable table(
      {words("stays wider"), words("op"), words("computes in"), folding("because", 24, 1)});
  std::size_t count = 0;
  for (const ConvertedOp& op : report.ops)
    if (op.precision != name(report.precision) && !op.sensitivity && ++count <= most_listed)
      table.add({op.name, op.op, op.precision, op.why});
  if (count == 0) return "";
  const std::string more =
      count > most_listed ? fmt::format("and {} more, which --json lists\n", count - most_listed)
                          : "";
  return '\n' + table.text(output_width()) + more;
}

std::string candidates_text(const ConversionReport& report) {
  std::vector<std::string> texts;
  for (const EngineCandidate& each : report.candidates)
    texts.push_back(fmt::format("{} {:.3g} ms a sample{}", name(each.precision), each.milliseconds,
                                each.within_budget ? "" : " and loses too much"));
  return texts.empty() ? "" : fmt::format("tried           {}\n", listed(texts));
}

std::string budget_text(const ConversionReport& report) {
  if (!report.max_drop) return "";
  if (report.validation_samples == 0)
    return "budget          not measured: samples are needed, by --calibrate DATA\n";
  const char* unit = report.before.accuracy ? " points of accuracy" : " % of the output";
  return fmt::format("budget          {}{}: {}\n", number_text(*report.max_drop), unit,
                     report.within_budget() ? "kept" : "not kept");
}

}  // namespace

std::string conversion_text(const ConversionReport& report, const ConvertedNames& names) {
  std::string text = fmt::format("{} in {}{}\n", names.model, name(report.precision),
                                 names.file.empty() ? "" : ": " + names.file);
  if (report.calibration_samples > 0)
    text += fmt::format("ranges          by {} from {} samples of {}\n", names.calibrator,
                        grouped(report.calibration_samples), names.ranges);
  if (report.validation_samples > 0)
    text += fmt::format("measured        on {} samples of {}\n", grouped(report.validation_samples),
                        names.data);
  if (!report.ops.empty())
    text += fmt::format("convolutions and products: {} of {} in {}\n",
                        ops_in(report, name(report.precision)), report.ops.size(),
                        name(report.precision));
  text += candidates_text(report);
  text += budget_text(report);
  return text + '\n' + accuracy_table(report) + sensitive_table(report) + wider_table(report);
}

JsonObject conversion_json(const ConversionReport& report, const ConvertedNames& names) {
  JsonObject json;
  json.add("model", names.model).add("precision", name(report.precision)).add("file", names.file);
  json.add("data", names.data).add("calibrator", names.calibrator);
  if (report.calibration_samples > 0) json.add("ranges", names.ranges);
  json.add("calibration_samples", report.calibration_samples);
  json.add("validation_samples", report.validation_samples);
  if (report.before.accuracy && report.after.accuracy)
    json.add("accuracy_before", *report.before.accuracy).add("accuracy", *report.after.accuracy);
  json.add("agreement", report.after.agreement).add("error", report.after.error);
  json.add("bytes_before", report.bytes_before).add("bytes", report.bytes_after);
  json.add("milliseconds_before", report.milliseconds_before);
  json.add("milliseconds", report.milliseconds_after);
  if (report.max_drop) json.add("max_drop", *report.max_drop).add("drop", report.drop());
  json.add("within_budget", report.within_budget());
  std::vector<JsonObject> ops;
  for (const ConvertedOp& op : report.ops) {
    JsonObject each;
    each.add("name", op.name).add("op", op.op).add("precision", op.precision).add("why", op.why);
    if (op.sensitivity) each.add("sensitivity", *op.sensitivity);
    ops.push_back(std::move(each));
  }
  json.add("ops", ops);
  return json;
}

}  // namespace narrowgauge::cli
