// SPDX-License-Identifier: Apache-2.0
// bench --kernels: every distinct contraction of a training step, alone and warm.
#pragma once

#include <string>
#include <vector>

#include "api/contraction_times.h"
#include "api/doctor.h"
#include "cli/bench/task.h"
#include "cli/common/json.h"

namespace narrowgauge::cli {

struct KernelRow {
  std::string model, precision;
  std::vector<ContractionTime> contractions;
};

struct KernelOutcome {
  PeakRates peaks;
  std::vector<KernelRow> rows;
  bool interrupted = false;
};

// Runs the benchmark; Ctrl-C stops it between two contractions.
KernelOutcome run_kernel_benchmark(const BenchTask& task);

// The sum over all nodes: milliseconds, and the share of the peak of each contraction's math. Both
// count a contraction as often as it occurs in the step.
struct KernelTotal {
  double milliseconds = 0, flops = 0, of_peak = 0;
};
KernelTotal total_of(const std::vector<ContractionTime>& contractions, const PeakRates& peaks);

std::string kernel_text(const KernelRow& row, const PeakRates& peaks);
JsonObject kernels_json(const KernelOutcome& outcome);

}  // namespace narrowgauge::cli
