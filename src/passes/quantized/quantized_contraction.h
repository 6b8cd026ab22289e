// SPDX-License-Identifier: Apache-2.0
// Finds a contraction of quantised values with its epilogue, and puts one op in its place.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "ir/readers.h"
#include "passes/core/rebuild.h"
#include "passes/quantized/quantized_values.h"

namespace narrowgauge {

struct QuantizedContraction {
  std::vector<int> members;  // in their order; the first is the contraction
  QuantizedValue x, w;
  Value bias = absent;    // a list, or with axes of size 1 around it
  Value factor = absent;  // what scales the sums, in the place of the scale of w
  std::optional<QuantizedValue> residual, y;
  Value added = absent;  // a residual in f32
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool gelu = false;  // in the place of a residual and bounds; only before y
};

// The quantized contraction that a node is; nothing if it is none. None of its members is in
// `taken`.
std::optional<QuantizedContraction> find_quantized(const Graph& graph, const Readers& readers,
                                                   int node, const std::set<int>& taken);
void add_quantized(Rebuild& rebuild, const QuantizedContraction& found);

}  // namespace narrowgauge
