// SPDX-License-Identifier: Apache-2.0
// What executors measured of their kernels, as the public interface says it.
#pragma once

#include <span>
#include <vector>

#include "narrowgauge/model.h"
#include "runtime/executor.h"

namespace narrowgauge {

// The kernels of executors that run one after another, in the order of their plans.
std::vector<Trainer::KernelChoice> measured_kernels(std::span<const Executor* const> executors);
// The single runs of these kernels in the order of time, by places among measured_kernels().
std::vector<Trainer::KernelRun> measured_runs(std::span<const Executor* const> executors);

}  // namespace narrowgauge
