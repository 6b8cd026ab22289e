// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "cli/bench_plot.h"
#include "cli/bench_torch.h"
#include "cli/network_choice.h"
#include "cli/text.h"

namespace narrowgauge::cli {
namespace {

// What the kernels may take of 80 columns, whatever the numbers beside them.
constexpr std::size_t kernels_width = 26;

std::string or_nothing(double value, const std::string& text) {
  return std::isfinite(value) ? text : "";
}

// Words with commas between them, in lines of limited width.
std::vector<std::string> wrapped(const std::vector<std::string>& words, std::size_t width) {
  std::vector<std::string> lines{""};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

// The model's name stands in the first of its rows.
std::string name_of(const std::vector<BenchRow>& rows, std::size_t index) {
  const bool same = index > 0 && rows[index - 1].model == rows[index].model;
  return same ? "" : rows[index].model;
}

std::vector<std::string> inputs(const BenchTask& task) {
  std::vector<std::string> lines;
  for (const std::string& name : task.models)
    lines.push_back(concat(name, ": ", bench_network(task, name).what()));
  return lines;
}

// "images/s" where all rows are about images.
std::string rate_heading(const std::vector<BenchRow>& rows) {
  const auto all = [&](InputKind kind) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](const BenchRow& row) { return model_facts(row.model).input == kind; });
  };
  if (all(InputKind::images)) return "images/s";
  return all(InputKind::tokens) ? "sequences/s" : "samples/s";
}

}  // namespace

// Both with the digits that suit the larger one.
std::string rate_with_interval(const BenchRow& row) {
  const double rate = row.rate(), interval = row.interval();
  if (rate >= 100)
    return fmt::format("{} +- {}", grouped(std::llround(rate)), grouped(std::llround(interval)));
  const int digits = rate >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} +- {:.{}f}", rate, digits, interval, digits);
}

std::string speed_table(const std::vector<BenchRow>& rows) {
  const BenchRow* first = rows.empty() ? nullptr : base_of(rows, rows.front());
  TextTable table({"model", "precision", rate_heading(rows), "speed-up", "first loss",
                   concat("against ", first ? first->precision : "f32")},
                  {1});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const BenchRow& row = rows[i];
    const bool base = base_of(rows, row) == &row;
    const double times = speed_up(rows, row), difference = loss_difference(rows, row);
    table.add({name_of(rows, i), row.precision, rate_with_interval(row),
               or_nothing(times, fmt::format("{:.2f}x", times)),
               fmt::format("{:.6f}", row.first_loss()),
               base ? "" : or_nothing(difference, fmt::format("{:+.1e}", difference))});
  }
  return table.text();
}

std::string memory_table(const std::vector<BenchRow>& rows) {
  TextTable table({"model", "precision", "activations", "largest batch", "kernels"}, {1, 4});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const BenchRow& row = rows[i];
    const std::vector<std::string> lines = wrapped(kernel_families(row.kernels), kernels_width);
    table.add({name_of(rows, i), row.precision, bytes_text(row.memory.activations),
               grouped(row.largest_batch), lines.front()});
    for (std::size_t k = 1; k < lines.size(); ++k) table.add({"", "", "", "", lines[k]});
  }
  return table.text();
}

std::vector<std::string> bench_remarks(const BenchTask& task, const BenchOutcome& outcome) {
  std::vector<std::string> lines = inputs(task);
  lines.push_back(fmt::format("batch {}; {} iterations of {} batches, +- 1.96 standard deviations",
                              task.batch, task.iterations, task.batches));
  lines.push_back(fmt::format("{} threads; SGD; all precisions from the same weights and batch",
                              task.threads > 0 ? task.threads : thread_count()));
  for (const auto& [model, choice] : task.chosen)
    lines.push_back(concat(model, " auto: ", choice.reason));
  if (!outcome.torch.empty())
    lines.push_back(fmt::format("torch {}, its faster layout; losses: difference of the first ones",
                                outcome.torch_version));
  for (const std::string& model : outcome.sequences)
    lines.push_back(
        fmt::format("{}: too large for all precisions at once, they ran one after another", model));
  for (const BenchRow& row : outcome.rows)
    if (row.skipped_steps > 0)
      lines.push_back(fmt::format("{} {}: {} of {} steps were skipped, gradients overflowed",
                                  row.model, row.precision, row.skipped_steps, row.steps));
  return lines;
}

namespace {

JsonObject row_json(const BenchTask& task, const BenchOutcome& outcome, const BenchRow& row) {
  const std::vector<BenchRow>& rows = outcome.rows;
  const NetworkChoice network = bench_network(task, row.model);
  JsonObject json;
  network.describe(json);
  json.add("precision", row.precision).add("batch", task.batch);
  json.add("samples_per_second", row.rate()).add("interval", row.interval());
  json.add("iterations", row.rates).add("speed_up", speed_up(rows, row));
  json.add("first_loss", row.first_loss()).add("loss_difference", loss_difference(rows, row));
  json.add("activation_bytes", row.memory.activations).add("total_bytes", row.memory.total());
  json.add("largest_batch", row.largest_batch).add("kernels", kernel_families(row.kernels));
  json.add("steps", row.steps).add("skipped_steps", row.skipped_steps);
  if (const BenchRow* torch = torch_for(outcome, row)) {
    json.add("torch_ratio", row.rate() / torch->rate()).add("losses", row.losses);
    json.add("torch_precision", torch->precision).add("torch_layout", torch->torch_layout);
    json.add("torch_loss_difference", row.first_loss() / torch->first_loss() - 1);
  }
  if (outcome.machine && row.profiled_steps > 0)
    json.add("roofline", roofline_json(row, *outcome.machine));
  return json;
}

}  // namespace

JsonObject outcome_json(const BenchTask& task, const BenchOutcome& outcome) {
  std::vector<JsonObject> runs;
  for (const BenchRow& row : outcome.rows) runs.push_back(row_json(task, outcome, row));
  JsonObject json;
  json.add("event", outcome.interrupted ? "interrupted" : "done").add("runs", runs);
  json.add("threads", task.threads > 0 ? task.threads : thread_count());
  json.add("one_after_another", outcome.sequences);
  if (!outcome.torch.empty())
    json.add("torch_version", outcome.torch_version).add("torch", torch_json(outcome));
  if (outcome.machine) json.add("machine", rates_json(*outcome.machine));
  json.add("remarks", bench_remarks(task, outcome));
  return json;
}

namespace {

// Torch's faster layout of each of its precisions.
std::vector<const BenchRow*> torch_bars(const BenchOutcome& outcome, const std::string& model) {
  std::vector<const BenchRow*> best;
  for (const std::string& precision : torch_precisions)
    if (const BenchRow* row = torch_for(outcome, {.model = model, .precision = precision}))
      best.push_back(row);
  return best;
}

}  // namespace

std::string bench_picture(const BenchTask& task, const BenchOutcome& outcome) {
  std::vector<PlotGroup> groups;
  const auto add = [&](const BenchRow& row) {
    const BenchRow* base = base_of(outcome.rows, row);
    groups.back().bars.push_back({label_of(row), row.rate(), row.interval(),
                                  base ? fmt::format("{:.2f}x", row.rate() / base->rate()) : ""});
  };
  for (const std::string& model : task.models) {
    groups.push_back({model, {}});
    for (const BenchRow& row : outcome.rows)
      if (row.model == model) add(row);
    for (const BenchRow* row : torch_bars(outcome, model)) add(*row);
    if (groups.back().bars.empty()) groups.pop_back();
  }
  return bar_chart(fmt::format("Training, samples a second, batch {}", task.batch),
                   "each model to its own scale; thin lines: 1.96 standard deviations", groups);
}

}  // namespace narrowgauge::cli
