// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/bench.h"

#include <algorithm>

#include "api/training/amp_choice.h"
#include "base/files/memory.h"
#include "base/threads/parallel.h"
#include "narrowgauge/error.h"
#include "narrowgauge/out_of_memory.h"
#include "study/bench_precisions.h"
#include "study/rounds.h"

namespace narrowgauge {
namespace {

constexpr double seconds_each_peak = 0.2;

BenchRow examine(const BenchRun& run, const BenchNetwork& network, const std::string& precision,
                 const Settled& settled, std::int64_t available) {
  BenchRow row{.model = network.name, .precision = precision};
  run.tell({BenchStatus::Stage::planning_memory, row.model, label_of(row)});
  const TrainingSetup setup =
      bench_setup(network, settled_precision(settled, row.model, precision));
  const std::int64_t batch = run.task.batch;
  row.memory = training_memory(setup.graph, setup.plan, batch);
  row.batch_bytes = batch_bytes(setup.graph, batch);
  row.random = std::any_of(setup.graph.nodes().begin(), setup.graph.nodes().end(),
                           [](const Node& node) { return node.op->info.random; });
  row.largest_batch = largest_batch(setup.graph, setup.plan, available);
  const MemoryNeed need{concat(network.name, " in ", precision, " with batch ", batch),
                        {{"activations and workspaces", row.memory.arena},
                         {"weights and other states", row.memory.states},
                         {"a batch", row.batch_bytes}}};
  if (need.total() > available) refuse_memory(need, available, row.largest_batch);
  return row;
}

// The rows of ours, with what is known before anything runs.
std::vector<BenchRow> examine_all(const BenchRun& run, const Settled& settled) {
  const std::int64_t available = available_memory();
  std::vector<BenchRow> rows;
  for (const BenchNetwork& network : run.task.networks)
    for (const std::string& precision : run.task.precisions)
      rows.push_back(examine(run, network, precision, settled, available));
  return rows;
}

// A rival's need for memory is not known beforehand; this is a guess on the safe side.
constexpr std::int64_t rival_share = 2;

bool fit_together(std::span<const BenchRow> rows) {
  std::int64_t bytes = rows.front().batch_bytes;
  for (const BenchRow& row : rows) bytes += row.memory.total() * (row.is_rival() ? rival_share : 1);
  return bytes <= available_memory();
}

std::vector<BenchRow> with_rival(std::span<const BenchRow> own, const Rival* rival) {
  std::vector<BenchRow> rows(own.begin(), own.end());
  if (!rival) return rows;
  for (BenchRow& row : rival->rows_beside(own)) {
    row.memory = own.front().memory;
    rows.push_back(std::move(row));
  }
  return rows;
}

// Rows of f32, then rows of narrower formats, each with the rival's rows to compare with.
std::vector<std::vector<BenchRow>> by_storage(std::span<const BenchRow> rows) {
  std::vector<std::vector<BenchRow>> groups(2);
  for (const BenchRow& row : rows) groups[is_f32(row.precision) ? 0 : 1].push_back(row);
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

std::vector<std::vector<BenchRow>> one_by_one(std::span<const BenchRow> rows) {
  std::vector<std::vector<BenchRow>> groups;
  for (const BenchRow& row : rows) groups.push_back({row});
  return groups;
}

void train_network(const BenchRun& run, const std::vector<BenchRow>& rows, BenchOutcome& outcome) {
  std::vector<std::vector<BenchRow>> groups{rows};
  const auto all_fit = [&] { return std::ranges::all_of(groups, fit_together); };
  if (!all_fit()) groups = by_storage(rows);
  if (!all_fit()) groups = one_by_one(rows);
  if (groups.size() > 1) outcome.sequences.push_back(rows.front().model);
  for (std::vector<BenchRow>& group : groups) {
    if (run.stopped()) break;
    std::vector<std::string> precisions;
    for (const BenchRow& row : group)
      precisions.push_back(settled_precision(outcome.settled, row.model, row.precision));
    Rounds(run, group, precisions).train();
    for (BenchRow& row : group)
      if (!row.rates.empty()) (row.is_rival() ? outcome.rivals : outcome.rows).push_back(row);
  }
}

}  // namespace

Settled settle_precisions(const BenchRun& run) {
  Settled settled;
  if (std::ranges::find(run.task.precisions, "auto") == run.task.precisions.end()) return settled;
  for (const BenchNetwork& network : run.task.networks) {
    run.tell({.stage = BenchStatus::Stage::choosing_precision, .model = network.name});
    const AmpChoice choice =
        choose_amp(network.name, network.build, network.loss, bench_optimizer(), run.task.batch);
    settled[network.name] = {std::string(name(choice.format)), choice.reason};
  }
  return settled;
}

std::string settled_precision(const Settled& settled, const std::string& model,
                              const std::string& precision) {
  return precision == "auto" ? settled.at(model).precision : precision;
}

PeakRates measure_rates(const BenchRun& run, const std::optional<PeakRates>& earlier) {
  run.tell({.stage = BenchStatus::Stage::measuring_peaks});
  const PeakRates rates = measure_peaks(seconds_each_peak);
  return earlier ? best_of(rates, *earlier) : rates;
}

BenchOutcome benchmark(const BenchTask& task, const BenchWatch& watch, Rival* rival) {
  const BenchRun run{task, watch, rival};
  const ThreadScope threads(task.threads > 0 ? task.threads : thread_count());
  BenchOutcome outcome;
  if (rival) outcome.rival_version = rival->version();
  outcome.settled = settle_precisions(run);
  const std::vector<BenchRow> rows = examine_all(run, outcome.settled);
  const std::size_t width = task.precisions.size();
  for (std::size_t first = 0; first < rows.size() && !run.stopped(); first += width) {
    if (task.profile) outcome.machine = measure_rates(run, outcome.machine);
    train_network(run, with_rival(std::span(rows).subspan(first, width), rival), outcome);
  }
  if (task.profile && !run.stopped()) outcome.machine = measure_rates(run, outcome.machine);
  outcome.stopped = run.stopped();
  return outcome;
}

}  // namespace narrowgauge
