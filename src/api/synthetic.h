// SPDX-License-Identifier: Apache-2.0
// Random batches for benchmarks: for any network, whatever inputs it and its loss have.
#pragma once

#include <cstdint>
#include <vector>

#include "narrowgauge/graph.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// One tensor for each input of the graph, with `batch` for the symbol N: floating-point values of
// mean 0 and variance 1, whole numbers in [0, classes). A function of the inputs' names and the
// seed. Throws UsageError for inputs of other types.
std::vector<Tensor> random_batch(const Graph& graph, std::int64_t batch, std::int64_t classes,
                                 std::uint64_t seed);

}  // namespace narrowgauge
