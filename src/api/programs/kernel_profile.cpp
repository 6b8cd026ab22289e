// SPDX-License-Identifier: Apache-2.0
#include "api/programs/kernel_profile.h"

#include <algorithm>
#include <utility>

namespace narrowgauge {

std::vector<Trainer::KernelChoice> measured_kernels(std::span<const Executor* const> executors) {
  std::vector<Trainer::KernelChoice> kernels;
  for (const Executor* executor : executors)
    for (StepProfile& row : executor->profile())
      kernels.push_back({std::move(row.node), std::move(row.op), std::move(row.implementation),
                         row.facts, row.phase, row.milliseconds, row.math, row.flops, row.bytes,
                         std::move(row.why)});
  return kernels;
}

std::vector<Trainer::KernelRun> measured_runs(std::span<const Executor* const> executors) {
  std::vector<Trainer::KernelRun> runs;
  std::size_t before = 0;  // kernels of the executors before
  for (const Executor* executor : executors) {
    for (const StepRun& run : executor->step_runs())
      runs.push_back({before + run.step, run.begin, run.milliseconds});
    before += executor->plan().steps.size();
  }
  std::ranges::stable_sort(runs, {}, &Trainer::KernelRun::begin);
  return runs;
}

}  // namespace narrowgauge
