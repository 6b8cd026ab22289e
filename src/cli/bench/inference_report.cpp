// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/inference_report.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/bench/plot.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

std::string program_of(const InferenceRow& row) {
  return row.is_peer() ? row.program : "narrowgauge";
}

std::string milliseconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  const double ms = seconds * 1e3;
  return fmt::format("{:.{}f}", ms, ms < 10 ? 3 : ms < 100 ? 2 : 1);
}

double rate_of(const InferenceRow& row) { return quartiles_of(row.rates).median; }

std::string peer_ratio_text(const InferenceOutcome& outcome, const InferenceRow& row) {
  const InferenceRow* const peer = row.is_peer() ? nullptr : peer_for(outcome, row);
  if (!peer || row.rates.empty()) return "";
  const Quartiles ratio = ratio_quartiles(row.rates, peer->rates);
  const int digits = ratio.upper < 100 ? 2 : 0;
  return fmt::format("{0:.{3}f} ({1:.{3}f}-{2:.{3}f})", ratio.median, ratio.lower, ratio.upper,
                     digits);
}

}  // namespace

std::string inference_status_text(const InferenceRow& row, std::int64_t round) {
  const std::string what = round == 0 ? std::string("loading") : concat("round ", round);
  return fmt::format("{}  {} {}  batch {}  {}", row.model, program_of(row), row.precision,
                     row.batch, what);
}

std::string inference_table(const InferenceOutcome& outcome) {
  TextTable table({words("model"), numbers("batch"), words("program"), words("format"),
                   numbers("p50 ms"), numbers("p90", 3), numbers("p99", 2), numbers("samples/s"),
                   numbers("ratio"), numbers("load s", 4), numbers("MiB", 5)});
  std::string model;
  std::int64_t batch = 0;
  for (const InferenceRow& row : outcome.rows) {
    if (row.seconds.empty()) continue;
    const bool same = row.model == model && row.batch == batch;
    table.add({row.model == model ? "" : row.model, same ? "" : std::to_string(row.batch),
               program_of(row), row.precision, milliseconds_text(row.percentile(0.5)),
               milliseconds_text(row.percentile(0.9)), milliseconds_text(row.percentile(0.99)),
               rate_text(rate_of(row)), peer_ratio_text(outcome, row),
               fmt::format("{:.2f}", row.load_seconds),
               fmt::format("{:.0f}", static_cast<double>(row.load_bytes) / (1 << 20))});
    model = row.model;
    batch = row.batch;
  }
  return table.text(output_width());
}

std::string inference_remarks(const InferenceTask& task, const InferenceOutcome& outcome) {
  std::string text = fmt::format(
      "Median of {} rounds of {} s, by turns, the first answers left out; load: from the file to "
      "the "
      "first answer, and the memory that it took.",
      task.rounds, number_text(task.seconds));
  if (!task.peers.empty())
    text +=
        " Ratio: to the fastest peer of the same format, or else of f32, round by round, with "
        "quartiles; above 1 narrowgauge is faster.";
  for (const auto& [peer, file] : task.peer_files)
    text += fmt::format(" {} answers from {}, and stands beside any format.", peer, file);
  for (const std::string& version : outcome.versions) text += ' ' + version + '.';
  std::string lines = folded_lines(text, output_width()) + '\n';
  std::vector<std::string> said;
  for (const InferenceRow& row : outcome.rows) {
    const std::string line =
        fmt::format("[SKIP] {} {}: {}", row.program, row.precision, row.missing);
    if (row.missing.empty() || std::ranges::find(said, line) != said.end()) continue;
    said.push_back(line);
    lines += folded_lines(line, output_width()) + '\n';
  }
  return lines;
}

std::string inference_picture(const InferenceOutcome& outcome) {
  std::vector<PlotGroup> groups;
  for (const InferenceRow& row : outcome.rows) {
    if (row.rates.empty()) continue;
    const std::string name = fmt::format("{}, batch {}", row.model, row.batch);
    if (groups.empty() || groups.back().name != name) groups.push_back({name, {}});
    const InferenceRow* const peer = row.is_peer() ? nullptr : peer_for(outcome, row);
    const std::string below =
        peer ? fmt::format("{:.2f}x", ratio_quartiles(row.rates, peer->rates).median)
             : std::string();
    const std::string label =
        row.is_peer() ? fmt::format("{} {}", row.program, row.precision) : row.precision;
    groups.back().bars.push_back({label, quartiles_of(row.rates), below});
  }
  return bar_chart("Answers of trained networks", "samples a second: median and quartiles", groups);
}

JsonObject inference_json(const InferenceOutcome& outcome) {
  std::vector<JsonObject> rows;
  for (const InferenceRow& row : outcome.rows) {
    JsonObject json;
    json.add("model", row.model).add("batch", row.batch).add("program", program_of(row));
    json.add("precision", row.precision);
    if (!row.missing.empty()) json.add("missing", row.missing);
    json.add("p50_seconds", row.percentile(0.5)).add("p90_seconds", row.percentile(0.9));
    json.add("p99_seconds", row.percentile(0.99)).add("answers", std::ssize(row.seconds));
    json.add("samples_per_second", rate_of(row)).add("rounds", row.rates);
    json.add("load_seconds", row.load_seconds).add("load_bytes", row.load_bytes);
    json.add("difference", row.difference);
    if (const InferenceRow* const peer = row.is_peer() ? nullptr : peer_for(outcome, row)) {
      const Quartiles ratio = ratio_quartiles(row.rates, peer->rates);
      json.add("peer", concat(peer->program, ' ', peer->precision)).add("ratio", ratio.median);
      json.add("ratio_quartiles", std::vector{ratio.lower, ratio.upper});
    }
    rows.push_back(std::move(json));
  }
  JsonObject json;
  json.add("event", "done").add("stopped", outcome.stopped).add("threads", outcome.threads);
  json.add("peers", outcome.versions).add("rows", rows);
  return json;
}

}  // namespace narrowgauge::cli
