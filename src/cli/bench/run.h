// SPDX-License-Identifier: Apache-2.0
// The synthetic benchmark itself: every model in every precision on one random batch.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/roofline.h"
#include "cli/bench/task.h"
#include "cli/bench/torch_process.h"

namespace narrowgauge::cli {

// The network with its images or texts: those asked for, or the usual ones. Throws ModelError for
// an unknown network, UsageError for flags of the other kind of input.
NetworkChoice bench_network(const BenchTask& task, const std::string& name);

// Measures which format `auto` stands for in each model, if it is asked for.
void choose_formats(BenchTask& task);

// Rows with what is known before anything runs: memory and the largest batch for the memory that is
// available now. Throws ModelError for a model and images that do not fit together, UsageError for
// a precision that would change nothing, DeviceError for a batch that does not fit.
std::vector<BenchRow> examine(const BenchTask& task);

struct BenchOutcome {
  std::vector<BenchRow> rows;          // those that ran
  std::vector<std::string> sequences;  // models whose precisions did not fit into memory at once
  std::optional<PeakRates> machine;    // for the roofline, where it is wanted
  std::vector<BenchRow> torch;         // torch's, without layouts far behind the other
  std::string torch_version;
  bool interrupted = false;
};

// Called after each iteration.
using BenchListener = std::function<void(const BenchRow& row)>;

// Runs 2 batches to warm up, then the iterations. The precisions of a model, and torch if given,
// take turns iteration by iteration, so that other load on the machine meets all alike. A torch
// layout that is far slower than its other one after the warm-up gets no turns. If the precisions
// of a model do not fit into memory together, those of f32 run first, then the narrow ones; if that
// is too much, each alone. Ctrl-C stops it after the step under way.
BenchOutcome run_benchmark(const BenchTask& task, const std::vector<BenchRow>& rows,
                           const BenchListener& listener, TorchProcess* torch);

}  // namespace narrowgauge::cli
