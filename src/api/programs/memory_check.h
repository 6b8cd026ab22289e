// SPDX-License-Identifier: Apache-2.0
// Checks before any memory of a plan is taken whether there is enough: otherwise the system would
// end the process later, without a word.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compile/plan.h"
#include "narrowgauge/out_of_memory.h"
#include "runtime/state_store.h"

namespace narrowgauge {

// The plan of the same graph for another batch.
using PlanForBatch = std::function<Plan(std::int64_t batch)>;

// `size` samples at once, 0 if the graph fixes the batch; a loader has yet to read `unread`
// samples.
struct Batches {
  std::int64_t size = 0, unread = 0;
};

// How many bytes too few there are for running a plan; nothing if they suffice.
std::optional<std::int64_t> memory_lacking(const Plan& plan, const StateStore& store,
                                           Batches batches);

// "memory: graph 'resnet20' with batch 512 computes 12 results again in the backward pass: that
// saves 310 MiB for 214.5 Mflop a step". "" if it computes none again.
std::string recomputation_text(const Plan& plan, Batches batches);

// Throws OutOfMemoryError such as "memory: graph 'lenet' with batch 4096 needs 3.2 GiB: activations
// 2.1 GiB, ...; 1.9 GiB can be had; batch 2300 fits".
void require_memory(const Plan& plan, const StateStore& store, Batches batches,
                    const PlanForBatch& plan_for);

// Bytes of all values of a graph together if no memory is used twice; unknown shapes do not count.
std::int64_t bytes_of_values(const Graph& graph, const Binding& binding);

// The largest number of units for which `needed`, which grows almost in proportion, is at most
// `bytes`; to within a hundredth. 0: not even one fits.
std::int64_t most_that_fit(const std::function<std::int64_t(std::int64_t)>& needed,
                           std::int64_t bytes);

}  // namespace narrowgauge
