// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/kernels.h"

#include <fmt/format.h>

#include "base/parallel.h"
#include "cli/bench/contender.h"
#include "cli/bench/roofline.h"
#include "cli/bench/run.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "precision/apply.h"

namespace narrowgauge::cli {
namespace {

constexpr double seconds_each = 0.03;

double gflops(const ContractionTime& time) { return 1e-6 * time.flops / time.milliseconds; }

double of_peak(const ContractionTime& time, const PeakRates& peaks) {
  return 1e9 * gflops(time) / peaks.of(time.math);
}

// "conv1 dx" for the gradients of a convolution, else the node's own name.
std::string label_of(const ContractionTime& time) {
  if (time.op == "ng.ConvDataGradient") return time.origin + " dx";
  if (time.op == "ng.ConvWeightGradient") return time.origin + " dw";
  return time.node;
}

KernelRow measure(const BenchTask& task, const std::string& model, const std::string& precision) {
  KernelRow row{model, precision, {}};
  const TrainingSetup setup = bench_setup(task, bench_network(task, model), precision);
  const Plan plan = compile(apply(setup.graph, setup.plan), bench_compilation(task.batch));
  std::vector<ContractionTime> found = distinct_contractions(plan);
  for (ContractionTime& each : found) {
    if (interrupted()) break;
    show_status(fmt::format("{}  {}  contraction {}/{}", model, precision,
                            row.contractions.size() + 1, found.size()));
    time_contraction(plan, each, seconds_each);
    row.contractions.push_back(each);
  }
  return row;
}

}  // namespace

KernelOutcome run_kernel_benchmark(const BenchTask& task) {
  const ThreadScope threads(task.threads > 0 ? task.threads : thread_count());
  const InterruptScope interrupts;
  KernelOutcome outcome{measure_rates(std::nullopt), {}, false};
  for (const std::string& model : task.models)
    for (const std::string& precision : task.precisions)
      if (!interrupted()) outcome.rows.push_back(measure(task, model, precision));
  outcome.peaks = measure_rates(outcome.peaks);
  outcome.interrupted = interrupted();
  return outcome;
}

KernelTotal total_of(const std::vector<ContractionTime>& contractions, const PeakRates& peaks) {
  KernelTotal total;
  double least = 0;  // milliseconds at the peak
  for (const ContractionTime& each : contractions) {
    const auto count = static_cast<double>(each.count);
    total.milliseconds += count * each.milliseconds;
    total.flops += count * each.flops;
    least += 1e3 * count * each.flops / peaks.of(each.math);
  }
  total.of_peak = total.milliseconds > 0 ? least / total.milliseconds : 0;
  return total;
}

std::string kernel_text(const KernelRow& row, const PeakRates& peaks) {
  constexpr std::size_t node_width = 20, kernel_width = 12;  // at least
  TextTable table({folding(fmt::format("{} {}", row.model, row.precision), node_width),
                   numbers("count", 3), numbers("ms"), numbers("GFLOP/s", 2), numbers("of peak"),
                   folding("kernel", kernel_width, 1)});
  for (const ContractionTime& each : row.contractions)
    table.add({label_of(each), fmt::format("{}", each.count),
               fmt::format("{:.3f}", each.milliseconds), rate_text(gflops(each)),
               fmt::format("{:.0f} %", 100 * of_peak(each, peaks)), each.implementation});
  const KernelTotal total = total_of(row.contractions, peaks);
  table.add_line();
  table.add({"all, by count", "", fmt::format("{:.2f}", total.milliseconds),
             rate_text(1e-6 * total.flops / total.milliseconds),
             fmt::format("{:.0f} %", 100 * total.of_peak), ""});
  return table.text(output_width());
}

JsonObject kernels_json(const KernelOutcome& outcome) {
  std::vector<JsonObject> runs;
  for (const KernelRow& row : outcome.rows) {
    std::vector<JsonObject> contractions;
    for (const ContractionTime& each : row.contractions) {
      JsonObject json;
      json.add("node", each.node).add("op", each.op).add("shapes", each.shapes);
      json.add("count", each.count).add("milliseconds", each.milliseconds);
      json.add("flops", each.flops).add("bytes", each.bytes).add("math", name(each.math));
      json.add("of_peak", of_peak(each, outcome.peaks)).add("kernel", each.implementation);
      json.add("why", each.why);
      contractions.push_back(std::move(json));
    }
    const KernelTotal total = total_of(row.contractions, outcome.peaks);
    JsonObject json;
    json.add("model", row.model).add("precision", row.precision);
    json.add("contractions", contractions).add("milliseconds", total.milliseconds);
    json.add("flops", total.flops).add("of_peak", total.of_peak);
    runs.push_back(std::move(json));
  }
  JsonObject json;
  json.add("event", outcome.interrupted ? "interrupted" : "done").add("runs", runs);
  json.add("machine", rates_json(outcome.peaks));
  return json;
}

}  // namespace narrowgauge::cli
