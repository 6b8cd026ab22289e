// SPDX-License-Identifier: Apache-2.0
#include "api/programs/contraction_times.h"
#include "api/programs/kernel_cache.h"
#include "base/threads/parallel.h"
#include "compile/compile.h"
#include "narrowgauge/bench.h"
#include "precision/apply.h"
#include "study/bench_precisions.h"

namespace narrowgauge {
namespace {

constexpr double seconds_each = 0.03;

void measure_contractions(const BenchRun& run, const std::string& precision, KernelRow& row) {
  const TrainingSetup setup = bench_setup(run.network(row.model), precision);
  CompileOptions options;
  options.binding = {{"N", run.task.batch}};
  options.kernels = kernel_cache();
  const Plan plan = compile(apply(setup.graph, setup.plan), options);
  std::vector<ContractionTime> found = distinct_contractions(plan);
  for (ContractionTime& each : found) {
    if (run.stopped()) break;
    run.tell({.stage = BenchStatus::Stage::timing_contractions,
              .model = row.model,
              .label = row.precision,
              .number = static_cast<std::int64_t>(row.contractions.size()) + 1,
              .of = static_cast<std::int64_t>(found.size())});
    time_contraction(plan, each, seconds_each);
    row.contractions.push_back(each);
  }
}

}  // namespace

KernelOutcome benchmark_kernels(const BenchTask& task, const BenchWatch& watch) {
  const BenchRun run{task, watch};
  const ThreadScope threads(task.threads > 0 ? task.threads : thread_count());
  const auto settled = settle_precisions(run);
  KernelOutcome outcome{.peaks = measure_rates(run, std::nullopt)};
  for (const BenchNetwork& network : task.networks)
    for (const std::string& precision : task.precisions) {
      if (run.stopped()) continue;
      outcome.rows.push_back({network.name, precision, {}});
      measure_contractions(run, settled_precision(settled, network.name, precision),
                           outcome.rows.back());
    }
  outcome.peaks = measure_rates(run, outcome.peaks);
  outcome.stopped = run.stopped();
  return outcome;
}

double of_peak(const ContractionTime& time, const PeakRates& peaks) {
  return 1e9 * (1e-6 * time.flops / time.milliseconds) / peaks.of(time.math);
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

}  // namespace narrowgauge
