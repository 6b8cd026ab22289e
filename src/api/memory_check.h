// SPDX-License-Identifier: Apache-2.0
// Whether the memory of a plan can be had, asked before any of it is taken: the system would end
// the process later, without a word.
#pragma once

#include <functional>

#include "compile/plan.h"
#include "runtime/state_store.h"

namespace narrowgauge {

// The plan of the same graph for another batch.
using PlanForBatch = std::function<Plan(std::int64_t batch)>;

// Throws DeviceError, "memory: graph 'lenet' with batch 4096 needs 3.2 GiB: activations 2.1 GiB,
// ..., 1.9 GiB can be had; batch 2300 fits". `batch` is 0 where the graph has none.
void require_memory(const Plan& plan, const StateStore& store, std::int64_t batch,
                    const PlanForBatch& plan_for);

// The most units of which `needed` is at most `bytes`, where it grows almost in proportion; to
// within a hundredth. 0: not even one fits.
std::int64_t most_that_fit(const std::function<std::int64_t(std::int64_t)>& needed,
                           std::int64_t bytes);

}  // namespace narrowgauge
