// SPDX-License-Identifier: Apache-2.0
// The synthetic benchmark itself: every model in every precision on one random batch.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench_roofline.h"
#include "cli/bench_task.h"
#include "cli/torch_process.h"

namespace narrowgauge::cli {

// The network with its images or texts: what was asked for, or what is usual. Throws ModelError for
// an unknown one, UsageError for flags of the other kind of input.
NetworkChoice bench_network(const BenchTask& task, const std::string& name);

// Measures what `auto` stands for in each model, where it is asked for.
void choose_formats(BenchTask& task);

// Rows with what is known before anything runs: memory and the largest batch, against the memory
// that can be had now. Throws ModelError for a model or images that do not go together, UsageError
// for a precision that would change nothing, DeviceError for a batch that does not fit.
std::vector<BenchRow> examine(const BenchTask& task);

struct BenchOutcome {
  std::vector<BenchRow> rows;          // those that ran
  std::vector<std::string> sequences;  // models whose precisions did not fit into memory at once
  std::optional<PeakRates> machine;    // for the roofline, where it is wanted
  std::vector<BenchRow> torch;         // torch's, without layouts far behind the other
  std::string torch_version;
  bool interrupted = false;
};

// Told of each iteration once it is done.
using BenchListener = std::function<void(const BenchRow& row)>;

// Where the precisions of a model do not fit into memory together, those of f32 run first, then the
// narrow ones; where that is too much, each alone.
// 2 batches to warm up, then the iterations; the precisions of a model take turns, iteration by
// iteration, and torch with them where it is given, so that what else the machine does meets all
// alike. A layout of torch's that is far behind its other one after the warming up has no turns.
// Stops after the step in which Ctrl-C is pressed.
BenchOutcome run_benchmark(const BenchTask& task, const std::vector<BenchRow>& rows,
                           const BenchListener& listener, TorchProcess* torch);

}  // namespace narrowgauge::cli
