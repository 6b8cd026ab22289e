// SPDX-License-Identifier: Apache-2.0
// Whether the memory of a plan can be had, asked before any of it is taken: the system would end
// the process later, without a word.
#pragma once

#include <functional>

#include "compile/plan.h"
#include "narrowgauge/out_of_memory.h"
#include "runtime/state_store.h"

namespace narrowgauge {

// The plan of the same graph for another batch.
using PlanForBatch = std::function<Plan(std::int64_t batch)>;

// `size` samples at once, 0 where the graph has no batch, of so many that a loader has yet to read.
struct Batches {
  std::int64_t size = 0, unread = 0;
};

// Throws OutOfMemoryError, "memory: graph 'lenet' with batch 4096 needs 3.2 GiB: activations 2.1
// GiB, ...; 1.9 GiB can be had; batch 2300 fits".
void require_memory(const Plan& plan, const StateStore& store, Batches batches,
                    const PlanForBatch& plan_for);

// At least what all values of a graph take, were none of their memory used again.
std::int64_t bytes_of_values(const Graph& graph, const Binding& binding);

// The most units of which `needed` is at most `bytes`, where it grows almost in proportion; to
// within a hundredth. 0: not even one fits.
std::int64_t most_that_fit(const std::function<std::int64_t(std::int64_t)>& needed,
                           std::int64_t bytes);

}  // namespace narrowgauge
