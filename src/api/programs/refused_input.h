// SPDX-License-Identifier: Apache-2.0
// What to say of an input that a graph cannot take.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Throws UsageError for one of the types of the inputs of a graph, which is not as expected: by
// which other input a symbol has its size, and where labels of classes lie otherwise than those of
// the scores, how these must lie.
[[noreturn]] void refuse_input(const Graph& graph, const TensorTypes& given, std::size_t input);

}  // namespace narrowgauge
