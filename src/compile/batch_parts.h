// SPDX-License-Identifier: Apache-2.0
// How a large batch is cut: where its largest value is more than the caches of a CPU keep, several
// smaller batches one after another find in them what the kernel before has stored.
#pragma once

#include <cstdint>
#include <string>

#include "narrowgauge/graph.h"

namespace narrowgauge {

struct BatchParts {
  std::string symbol{};    // of the size of a batch
  std::int64_t parts = 1;  // of equal size
};

// `graph` has a symbol for the batch, `ready` is what the passes made of it for a known one.
BatchParts batch_parts(const Graph& graph, const Graph& ready);

}  // namespace narrowgauge
