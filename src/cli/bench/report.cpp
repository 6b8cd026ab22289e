// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/threads/parallel.h"
#include "cli/bench/plot.h"
#include "cli/bench/roofline.h"
#include "cli/bench/torch.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

constexpr std::size_t kernels_width = 16;  // at least, in columns

std::string or_nothing(double value, const std::string& text) {
  return std::isfinite(value) ? text : "";
}

std::string loss_text(double loss) {
  if (std::isnan(loss)) return "-";
  return loss < 1000 ? fmt::format("{:.6f}", loss) : fmt::format("{:.3e}", loss);
}

// "lenet 3 to 4 of 10 iterations; resnet20 none".
std::string missing_text(const BenchTask& task, const BenchOutcome& outcome) {
  std::string text;
  for (const auto& [model, build, loss, ranges] : task.networks) {
    std::size_t ran = 0, most = 0, least = static_cast<std::size_t>(task.iterations);
    for (const BenchRow& row : outcome.rows) {
      if (row.model != model) continue;
      ++ran;
      most = std::max(most, row.rates.size());
      least = std::min(least, row.rates.size());
    }
    if (ran < task.precisions.size()) least = 0;
    text += concat(text.empty() ? "" : "; ", model, ' ');
    if (most == 0)
      text += "none";
    else
      text += concat(least == most ? "" : concat(least, " to "), most, " of ", task.iterations,
                     " iterations");
  }
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// A model's name appears only in the first of its rows.
std::string name_of(const std::vector<BenchRow>& rows, std::size_t index) {
  const bool same = index > 0 && rows[index - 1].model == rows[index].model;
  return same ? "" : rows[index].model;
}

std::vector<std::string> inputs(const BenchRequest& request) {
  std::vector<std::string> lines;
  for (const NetworkChoice& network : request.networks)
    lines.push_back(concat(network.model, ": ", network.what()));
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

// Median and quartiles, all with the digits that suit the median.
std::string spread_text(const BenchRow& row) {
  const Quartiles spread = row.spread();
  if (!std::isfinite(spread.median)) return "-";
  const auto text = [&](double rate) {
    if (spread.median >= 100) return grouped(std::llround(rate));
    return fmt::format("{:.{}f}", rate, spread.median >= 10 ? 1 : 2);
  };
  return concat(text(spread.median), " (", text(spread.lower), '-', text(spread.upper), ')');
}

std::string speed_table(const std::vector<BenchRow>& rows) {
  const BenchRow* first = rows.empty() ? nullptr : base_of(rows, rows.front());
  TextTable table({words("model"), words("precision"), numbers(rate_heading(rows) + " (quartiles)"),
                   numbers("speed-up"), numbers("first loss", 1),
                   numbers(concat("against ", first ? first->precision : "f32"), 2)});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const BenchRow& row = rows[i];
    const bool base = base_of(rows, row) == &row;
    const double times = speed_up(rows, row), difference = loss_difference(rows, row);
    table.add({name_of(rows, i), row.precision, spread_text(row),
               or_nothing(times, fmt::format("{:.2f}x", times)), loss_text(row.first_loss()),
               base ? "" : or_nothing(difference, fmt::format("{:+.1e}", difference))});
  }
  return table.text(output_width());
}

std::string memory_table(const std::vector<BenchRow>& rows) {
  TextTable table({words("model"), words("precision"), numbers("activations"),
                   numbers("largest batch", 1), folding("kernels", kernels_width)});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const BenchRow& row = rows[i];
    table.add({name_of(rows, i), row.precision, bytes_text(row.memory.activations),
               grouped(row.largest_batch), listed(kernel_families(row.profile.kernels))});
  }
  return table.text(output_width());
}

std::vector<std::string> bench_remarks(const BenchRequest& request, const BenchOutcome& outcome) {
  const BenchTask& task = request.task;
  std::vector<std::string> lines = inputs(request);
  if (outcome.stopped) lines.push_back("interrupted: " + missing_text(task, outcome));
  lines.push_back(fmt::format("batch {}; {} iterations of {} batches: their median and quartiles",
                              task.batch, task.iterations, task.batches));
  lines.push_back("speed-up: median of the ratios, each of two iterations of one round");
  lines.push_back(fmt::format("{} threads; SGD; all precisions from the same weights and batch",
                              task.threads > 0 ? task.threads : thread_count()));
  for (const auto& [model, settled] : outcome.settled)
    lines.push_back(concat(model, " auto: ", settled.reason));
  if (!outcome.rivals.empty())
    lines.push_back(fmt::format("torch {}, its faster layout; losses: difference of the first ones",
                                outcome.rival_version));
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

JsonObject row_json(const BenchRequest& request, const BenchOutcome& outcome, const BenchRow& row) {
  const std::vector<BenchRow>& rows = outcome.rows;
  JsonObject json;
  std::ranges::find(request.networks, row.model, &NetworkChoice::model)->describe(json);
  json.add("precision", row.precision).add("batch", request.task.batch);
  json.add("samples_per_second", row.rate());
  json.add("quartiles", std::vector{row.spread().lower, row.spread().upper});
  json.add("iterations", row.rates).add("speed_up", speed_up(rows, row));
  json.add("first_loss", row.first_loss()).add("loss_difference", loss_difference(rows, row));
  json.add("activation_bytes", row.memory.activations).add("total_bytes", row.memory.total());
  json.add("largest_batch", row.largest_batch).add("kernels", kernel_families(row.profile.kernels));
  json.add("steps", row.steps).add("skipped_steps", row.skipped_steps);
  if (const BenchRow* torch = torch_for(outcome, row)) {
    json.add("torch_ratio", rate_ratio(row, *torch).median).add("losses", row.losses);
    json.add("torch_precision", torch->precision).add("torch_layout", torch->layout);
    json.add("torch_loss_difference", row.first_loss() / torch->first_loss() - 1);
  }
  if (outcome.machine && row.profile.steps > 0)
    json.add("roofline", roofline_json(row, *outcome.machine));
  return json;
}

}  // namespace

JsonObject outcome_json(const BenchRequest& request, const BenchOutcome& outcome) {
  const BenchTask& task = request.task;
  std::vector<JsonObject> runs;
  for (const BenchRow& row : outcome.rows) runs.push_back(row_json(request, outcome, row));
  JsonObject json;
  json.add("event", outcome.stopped ? "interrupted" : "done").add("runs", runs);
  json.add("threads", task.threads > 0 ? task.threads : thread_count());
  json.add("one_after_another", outcome.sequences);
  if (!outcome.rivals.empty())
    json.add("torch_version", outcome.rival_version).add("torch", torch_json(outcome));
  if (outcome.machine) json.add("machine", rates_json(*outcome.machine));
  json.add("remarks", bench_remarks(request, outcome));
  return json;
}

namespace {

// The row of torch's faster layout for each of its precisions.
std::vector<const BenchRow*> torch_bars(const BenchOutcome& outcome, const std::string& model) {
  std::vector<const BenchRow*> best;
  for (const std::string& precision : torch_precisions)
    if (const BenchRow* row = torch_for(outcome, {.model = model, .precision = precision}))
      best.push_back(row);
  return best;
}

}  // namespace

std::string bench_picture(const BenchRequest& request, const BenchOutcome& outcome) {
  std::vector<PlotGroup> groups;
  const auto add = [&](const BenchRow& row) {
    const BenchRow* base = base_of(outcome.rows, row);
    const double times = base ? rate_ratio(row, *base).median : std::nan("");
    groups.back().bars.push_back(
        {label_of(row), row.spread(), or_nothing(times, fmt::format("{:.2f}x", times))});
  };
  for (const auto& [model, build, loss, ranges] : request.task.networks) {
    groups.push_back({model, {}});
    for (const BenchRow& row : outcome.rows)
      if (row.model == model) add(row);
    for (const BenchRow* row : torch_bars(outcome, model)) add(*row);
    if (groups.back().bars.empty()) groups.pop_back();
  }
  return bar_chart(fmt::format("Training, samples a second, batch {}", request.task.batch),
                   "each model to its own scale; thin lines: quartiles", groups);
}

}  // namespace narrowgauge::cli
