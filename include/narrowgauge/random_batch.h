// SPDX-License-Identifier: Apache-2.0
// Random batches for benchmarks: for any network, whatever inputs it and its loss have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/graph.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// What the whole numbers of an input are: each of [least, least + count) as likely.
struct WholeNumbers {
  std::int64_t least = 0, count = 1;  // the smallest; how many there are, at least 1
};

// One tensor for each input of the graph, with `batch` for the symbol N: floating-point values of
// mean 0 and variance 1, whole numbers as `ranges` says for the input's name. A function of the
// inputs' names and the seed. Throws UsageError for inputs of other types, and without a range.
NG_API std::vector<Tensor> random_batch(const Graph& graph, std::int64_t batch,
                                        const std::map<std::string, WholeNumbers>& ranges,
                                        std::uint64_t seed);

}  // namespace narrowgauge
